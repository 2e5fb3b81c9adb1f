"""lmrbench measures whether language models and agents can reproduce the key functions of NLP papers.

`__all__` lists the public interface. Each name is imported on first use, so that `import lmrbench` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from lmrbench.version import __version__

if TYPE_CHECKING:
    from lmrbench.errors import LmrbenchError
    from lmrbench.grading.grader import Grader
    from lmrbench.grading.library import grade
    from lmrbench.grading.plan import GradingPlan
    from lmrbench.grading.reading import collect
    from lmrbench.grading.records import CaseVerdict, Grade
    from lmrbench.runs.folder import Run, read_run
    from lmrbench.tasks.loading import load_suite
    from lmrbench.tasks.model import Task
    from lmrbench.tasks.submission import Submission
    from lmrbench.tasks.workspace import export_workspace

__all__ = [
    "CaseVerdict",
    "Grade",
    "Grader",
    "GradingPlan",
    "LmrbenchError",
    "Run",
    "Submission",
    "Task",
    "__version__",
    "collect",
    "export_workspace",
    "grade",
    "load_suite",
    "read_run",
]

_HOMES = {
    "CaseVerdict": "lmrbench.grading.records",
    "Grade": "lmrbench.grading.records",
    "Grader": "lmrbench.grading.grader",
    "GradingPlan": "lmrbench.grading.plan",
    "LmrbenchError": "lmrbench.errors",
    "Run": "lmrbench.runs.folder",
    "Submission": "lmrbench.tasks.submission",
    "Task": "lmrbench.tasks.model",
    "collect": "lmrbench.grading.reading",
    "export_workspace": "lmrbench.tasks.workspace",
    "grade": "lmrbench.grading.library",
    "load_suite": "lmrbench.tasks.loading",
    "read_run": "lmrbench.runs.folder",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
