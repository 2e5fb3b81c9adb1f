"""The logistic regression of passing on the structure of repositories, as in LMR-BENCH's Table 5.

The paper defines depth, branching and goal length in its section 5.1 (`paper_structure`), and leaves imbalance open,
for which our measure is taken. `structure` has our own measures. Errors are clustered by paper, since the answers to
one paper's tasks share its repository.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.optimize import linprog

from lmrbench.authoring.overview import masked_lines
from lmrbench.grading.records import Grade
from lmrbench.records import Record
from lmrbench.tasks.model import Task

MEASURES = ("directory depth", "branching", "imbalance", "goal length")
# With fewer clusters than this, errors clustered by them come out too small (Cameron and Miller 2015, section VI).
_FEW = 40


class Coefficient(Record):
    """A row of the regression: of a measure, in standard deviations, or of a system against the first one."""

    name: str
    value: float
    error: float
    z: float
    p: float


class Regression(Record):
    """The regression of passing on structure.

    problem: why there are no coefficients; empty where there are. caution: what to keep in mind with their errors.
    """

    answers: int
    papers: int
    coefficients: tuple[Coefficient, ...]
    problem: str = ""
    caution: str = ""


def structure(task: Task) -> dict[str, float]:
    """Our measures of a task's repository.

    Directory depth: the mean over files of how many folders they lie in. Branching: the mean number of entries of a
    folder. Imbalance: the mean, over folders with at least two entries, of the standard deviation over the mean of the
    numbers of files below each entry. Goal length: the lines that the mask takes away.
    """
    files = [PurePosixPath(name) for name in task.files.repository]
    below: Counter[PurePosixPath] = Counter(place for file in files for place in (file, *file.parents))
    children: dict[PurePosixPath, list[int]] = {}
    for place, count in below.items():
        if place != PurePosixPath("."):
            children.setdefault(place.parent, []).append(count)
    uneven = [float(np.std(counts) / np.mean(counts)) for counts in children.values() if len(counts) > 1]
    return {
        "directory depth": float(np.mean([len(file.parents) - 1 for file in files])),
        "branching": float(np.mean([len(counts) for counts in children.values()])),
        "imbalance": float(np.mean(uneven)) if uneven else 0.0,
        "goal length": float(masked_lines(task)),
    }


def paper_structure(task: Task) -> dict[str, float]:
    """The measures of a task's repository as section 5.1 of the paper defines them, with our imbalance.

    Directory depth: the mean, over files and folders, of the number of edges from the root. Branching: the mean, over
    folders that hold anything, the root among them, of the number of their subfolders. Goal length: the lines of the
    goal file, of all of them if there are several.
    """
    files = [PurePosixPath(name) for name in task.files.repository]
    folders = {parent for file in files for parent in file.parents}
    entries = [*files, *(folder for folder in folders if folder.parts)]
    lengths = [len(task.files.repository[name].splitlines()) for name in task.goal_files]
    return {
        "directory depth": float(np.mean([len(entry.parts) for entry in entries])),
        "branching": (len(folders) - 1) / len(folders),
        "imbalance": structure(task)["imbalance"],
        "goal length": float(sum(lengths)),
    }


def regression(
    grades: Sequence[Grade], tasks: Mapping[str, Task], measures: Callable[[Task], dict[str, float]] = structure
) -> Regression:
    """Logit of passing on the measures, standardised over the answers, and on systems.

    Measures that are the same for all answers are left out. Grades of tasks that are not among `tasks` are not counted.
    """
    known = [item for item in grades if item.task in tasks]
    shapes = {name: measures(tasks[name]) for name in {item.task for item in known}}
    frame = pd.DataFrame([shapes[item.task] for item in known], columns=list(MEASURES))
    passed = np.array([item.passed for item in known], dtype=float)
    papers = pd.factorize(pd.Series([tasks[item.task].paper.slug for item in known], dtype=object))[0]
    frame = frame.loc[:, frame.nunique() > 1]
    frame = (frame - frame.mean()) / frame.std(ddof=0)
    for system in list(dict.fromkeys(item.system for item in known))[1:]:
        frame[system] = [float(item.system == system) for item in known]
    frame.insert(0, "constant", 1.0)
    answers, count = len(known), len(set(papers))
    if problem := _problem(frame, passed, papers):
        return Regression(answers=answers, papers=count, coefficients=(), problem=problem)
    fit = sm.Logit(passed, frame).fit(disp=0, maxiter=200, cov_type="cluster", cov_kwds={"groups": papers})
    rows = zip(frame.columns, fit.params, fit.bse, fit.tvalues, fit.pvalues, strict=True)
    found = (Coefficient(name=str(name), value=value, error=error, z=z, p=p) for name, value, error, z, p in rows)
    caution = (
        f"errors are clustered by {count} papers: with fewer than {_FEW} clusters they are too small, and so are the p "
        f"values of these {frame.shape[1]} coefficients"
    )
    return Regression(answers=answers, papers=count, coefficients=tuple(found), caution=caution if count < _FEW else "")


def _problem(frame: pd.DataFrame, passed: np.ndarray, papers: np.ndarray) -> str:
    if len(set(papers)) < 2:
        return "there are answers to one paper at most"
    if len(set(passed)) < 2:
        return "all answers pass" if passed[0] else "no answer passes"
    if len(set(papers)) <= frame.shape[1]:
        return f"{len(set(papers))} papers are too few for {frame.shape[1]} coefficients with errors clustered by paper"
    if np.linalg.matrix_rank(frame) < frame.shape[1]:
        return "the measures and systems are not linearly independent here"
    if _separated(frame.to_numpy(), passed):
        return "the measures separate answers that pass from those that fail, so that the likelihood has no maximum"
    return ""


def _separated(rows: np.ndarray, passed: np.ndarray) -> bool:
    """Whether some weights, not all 0, put no row on the wrong side (Albert and Anderson 1984).

    Of the weights of at most 1 in size that do so, those are looked for whose rows lie farthest on their sides.
    """
    signed = rows * np.where(passed > 0, 1.0, -1.0)[:, np.newaxis]
    bounds = [(-1.0, 1.0)] * rows.shape[1]
    found = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(rows)), bounds=bounds)
    return bool(found.success and -found.fun > 1e-7)
