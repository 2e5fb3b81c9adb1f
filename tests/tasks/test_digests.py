"""What makes a result stale, and what does not: a digest changes with what its holder depends on, and with no more."""

import shutil

import pytest

from lmrbench.sandbox import variables as environment
from lmrbench.tasks import digests as digests_of_tasks
from lmrbench.tasks import workspace
from lmrbench.tasks.digests import audit_digest, grading_digest, suite_digest
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.model import Limits
from lmrbench.tasks.workspace import masked_files, repository_files, third_party_imports


def digests(suite):
    tasks = load_suite(suite)
    return grading_digest(tasks[0]), suite_digest(tasks), audit_digest(tasks[0])


def edited(suite, name, old, new):
    file = suite / "toy" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    text = file.read_text() if file.exists() else ""
    assert old in text
    file.write_text(text.replace(old, new, 1) if old else text + new)


GRADED = {
    "the repository": ("repo/weighting.py", "", "# more\n"),
    "the check": ("checks/blend.py", "", "# more\n"),
    "a tolerance": ("task.toml", "rtol = 1e-9", "rtol = 1e-8"),
    "a tolerance of a key": ("task.toml", "tolerance =", "tolerances = { x = { rtol = 0.1 } }\ntolerance ="),
    "a similarity of a key": ("task.toml", "tolerance =", "similarities = { x = { threshold = 0.9 } }\ntolerance ="),
    "the memory": ("task.toml", "memory_mb = 256", "memory_mb = 128"),
}
TOLD = {
    "the summary": ("paper.md", "", "More.\n"),
    "the instruction": ("task.toml", "An empty list", "No values"),
    "the context": ("task.toml", 'context = ["weighting.py"]', ""),
}
AUDITED = {
    "a wrong version": ("wrong/blend/another.py", "", "def blend(self, values):\n    return 1.0\n"),
    "a rewrite": ("rewrites/blend/loop.py", "", "# more\n"),
    "an equivalent": ("equivalent/blend.toml", "", 'x = "a reason"\n'),
    "the golden's time": ("task.toml", "seconds = 20", "seconds = 21"),
}


@pytest.mark.parametrize(
    ("change", "stale"),
    [(item, (True, True, True)) for item in GRADED.values()]
    + [(item, (False, True, True)) for item in TOLD.values()]
    + [(item, (False, False, True)) for item in AUDITED.values()],
    ids=[*GRADED, *TOLD, *AUDITED],
)
def test_a_change_makes_stale_what_depends_on_it_and_nothing_else(suite, toy_suite, change, stale):
    before = digests(suite)
    assert before == digests(toy_suite)
    edited(suite, *change)
    assert tuple(old != new for old, new in zip(before, digests(suite), strict=True)) == stale


def test_a_limit_that_is_added_later_counts_only_where_a_task_sets_it(toy_suite):
    class LaterLimits(Limits):
        sockets: int = 8

    task = load_suite(toy_suite)[0]
    known = task.limits.model_dump()
    default, chosen = (
        task.model_copy(update={"limits": LaterLimits(**known, **more)}) for more in ({}, {"sockets": 9})
    )
    assert grading_digest(default) == grading_digest(task)
    assert audit_digest(default) == audit_digest(task)
    assert grading_digest(chosen) != grading_digest(task)


def test_the_digest_of_a_suite_does_not_depend_on_the_order_of_its_tasks(suite):
    shutil.copytree(suite / "toy", suite / "later")
    edited(suite, "../later/task.toml", 'slug = "toy"', 'slug = "later"')
    first, second = load_suite(suite)
    assert suite_digest([first, second]) == suite_digest([second, first]) != suite_digest([first])


def test_a_task_stays_what_was_loaded_whatever_happens_to_its_folder(suite):
    task = load_suite(suite)[0]
    before = audit_digest(task), repository_files(task), masked_files(task)
    shutil.rmtree(suite)
    assert (audit_digest(task), repository_files(task), masked_files(task)) == before
    assert third_party_imports(task) == ()
    assert "def observe" in task.files.check


def test_the_version_of_python_is_told_and_is_no_part_of_a_task(suite, monkeypatch):
    (task,) = load_suite(suite)
    before = audit_digest(task), suite_digest([task])
    for module in (workspace, digests_of_tasks):
        monkeypatch.setattr(module, "PYTHON", " Your code is run by Python 3.99.")

    assert "Python 3.99." in workspace.instruction(task, "full")
    assert (audit_digest(task), suite_digest([task])) == before


def test_what_runs_a_check_is_part_of_what_an_observation_depends_on(monkeypatch, tmp_path):
    def harness():
        environment.harness_digest.cache_clear()
        return environment.fingerprint(())["harness"]

    before = harness()
    changed = shutil.copytree(environment.WORKER_PROGRAM, tmp_path / "inside")
    monkeypatch.setattr(environment, "WORKER_PROGRAM", changed)
    assert harness() == before
    runner = changed / "case_runner.py"
    runner.write_text(runner.read_text().replace("random.seed(seed)", "random.seed(seed + 1)"))
    assert (seeded := harness()) != before
    monkeypatch.setattr(environment, "INTERPRETER_OPTIONS", ("-S",))
    assert (optioned := harness()) != seeded
    monkeypatch.setattr(environment, "variables", lambda path, home: {"PYTHONHASHSEED": "1"})
    assert harness() != optioned
    monkeypatch.undo()
    assert harness() == before
