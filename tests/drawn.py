"""Jobs of a check's text, whose cases are drawn in this process: for tests of what is below grading."""

from types import ModuleType

from lmrbench.sandbox.inside.cases import encode_cases
from lmrbench.sandbox.protocol import Cases, Job
from lmrbench.tasks.checks import observing
from lmrbench.tasks.model import Limits


def job_of(files, check, seed=0, owner="someone", limits=None, check_seconds=20.0, **others):
    """A job over these files; the rest is as `Job` takes it."""
    module = ModuleType("check")
    exec(compile(check, "check.py", "exec"), module.__dict__)
    drawn = list(module.cases(seed))
    names = tuple(case.get("name", "") if isinstance(case, dict) else "" for case in drawn)
    cases = Cases(names, encode_cases(drawn))
    return Job(owner, files, observing(check), cases, limits or Limits(), check_seconds, random_seed=seed, **others)
