"""Fit a logistic regression of passing on the structure of repositories, as in Table 5 of the LMR-BENCH paper.

`paper_structure` follows section 5.1 of the paper, which defines depth, branching and goal length. The paper does not
define imbalance, so lmrbench's definition is used. `structure` computes lmrbench's own measures. Standard
errors are clustered by paper, because the tasks of a paper share a repository.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.optimize import linprog

from lmrbench.authoring.overview import masked_lines
from lmrbench.grading.records import Grade
from lmrbench.records import Record
from lmrbench.tasks.model import Task

MEASURES = ("directory depth", "branching", "imbalance", "goal length")
# With fewer clusters than this, clustered standard errors are biased downward (Cameron and Miller 2015, section VI).
_FEW = 40


class Coefficient(Record):
    """A coefficient of the regression: of a standardised measure, or of a system relative to the first system.

    Attributes:
        name: The name of the measure or system.
        value: The estimate.
        error: The clustered standard error.
        z: The z statistic.
        p: The p value.
    """

    name: str
    value: float
    error: float
    z: float
    p: float


class Regression(Record):
    """The result of the regression of passing on structure.

    Attributes:
        answers: The number of answers.
        papers: The number of papers.
        coefficients: The coefficients; empty if there is a problem.
        problem: The reason why the regression could not be computed; "" if it was computed.
        caution: A warning about the standard errors; "" if there is none.
    """

    answers: int
    papers: int
    coefficients: tuple[Coefficient, ...]
    problem: str = ""
    caution: str = ""


class Outcome(NamedTuple):
    """Whether a system passed a task of a paper."""

    system: str
    task: str
    paper: str
    passed: bool


def structure(task: Task) -> dict[str, float]:
    """Compute lmrbench's measures of a task's repository.

    Directory depth is the mean number of folders above a file. Branching is the mean number of entries of a folder.
    Imbalance is the mean, over folders with at least two entries, of the coefficient of variation of the number of
    files below each entry. Goal length is the number of lines that are removed from the functions to write.

    Args:
        task: A task with targets.

    Returns:
        The measures by the names in `MEASURES`.
    """
    files = [PurePosixPath(name) for name in task.files.repository]
    children = _sizes(files)
    return {
        "directory depth": float(np.mean([len(file.parents) - 1 for file in files])),
        "branching": float(np.mean([len(counts) for counts in children.values()])),
        "imbalance": _imbalance(children),
        "goal length": float(masked_lines(task)),
    }


def paper_structure(task: Task) -> dict[str, float]:
    """Compute the measures of a task's repository as in section 5.1 of the paper; see `paper_measures`."""
    return paper_measures(task.files.repository, [task.files.repository[name] for name in task.goal_files])


def paper_measures(names: Iterable[str], goals: Iterable[bytes]) -> dict[str, float]:
    """Compute the measures of a repository as in section 5.1 of the paper, with lmrbench's definition of imbalance.

    Directory depth is the mean number of edges from the root to a file or folder. Branching is the mean number of
    subfolders of a non-empty folder, including the root. Goal length is the total number of lines of the goal files.

    Args:
        names: The paths of all files.
        goals: The contents of the goal files, which contain the functions to write.

    Returns:
        The measures by the names in `MEASURES`.
    """
    files = [PurePosixPath(name) for name in names]
    folders = {parent for file in files for parent in file.parents}
    entries = [*files, *(folder for folder in folders if folder.parts)]
    return {
        "directory depth": float(np.mean([len(entry.parts) for entry in entries])),
        "branching": (len(folders) - 1) / len(folders),
        "imbalance": _imbalance(_sizes(files)),
        "goal length": float(sum(len(goal.splitlines()) for goal in goals)),
    }


def regression(
    grades: Sequence[Grade], tasks: Mapping[str, Task], measures: Callable[[Task], dict[str, float]] = structure
) -> Regression:
    """Fit a logistic regression of passing on the structure of tasks; see `fitted`.

    Args:
        grades: The grades of answers. Grades of tasks that are not in `tasks` are ignored.
        tasks: The tasks by id.
        measures: A function that computes the measures of a task.

    Returns:
        The regression.
    """
    known = [item for item in grades if item.task in tasks]
    outcomes = [Outcome(item.system, item.task, tasks[item.task].paper.slug, item.correct) for item in known]
    return fitted(outcomes, {name: measures(tasks[name]) for name in {item.task for item in known}})


def regressions(grades: Iterable[Grade], tasks: Mapping[str, Task]) -> dict[str, Regression]:
    """Fit the regression with the measures of the LMR-BENCH paper ("paper") and with lmrbench's own measures ("ours").

    Args:
        grades: The grades. Those of tasks that are not in `tasks` are ignored.
        tasks: The tasks by id.
    """
    grades = list(grades)
    return {"paper": regression(grades, tasks, paper_structure), "ours": regression(grades, tasks, structure)}


def fitted(known: Sequence[Outcome], shapes: Mapping[str, Mapping[str, float]]) -> Regression:
    """Fit a logistic regression of passing on standardised measures and on systems.

    Measures that are the same for all answers are omitted.

    Args:
        known: The outcomes.
        shapes: The measures of each task, by the names in `MEASURES`.

    Returns:
        The regression.
    """
    frame = pd.DataFrame([shapes[item.task] for item in known], columns=list(MEASURES))
    passed = np.array([item.passed for item in known], dtype=float)
    papers = pd.factorize(pd.Series([item.paper for item in known], dtype=object))[0]
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
        f"standard errors are clustered by {count} papers; with fewer than {_FEW} clusters, they and the p values of "
        f"the {frame.shape[1]} coefficients are too small"
    )
    return Regression(answers=answers, papers=count, coefficients=tuple(found), caution=caution if count < _FEW else "")


def _sizes(files: Iterable[PurePosixPath]) -> dict[PurePosixPath, list[int]]:
    """Return, for each folder, the number of files in each of its entries (1 for a file)."""
    below: Counter[PurePosixPath] = Counter(place for file in files for place in (file, *file.parents))
    children: dict[PurePosixPath, list[int]] = {}
    for place, count in below.items():
        if place != PurePosixPath("."):
            children.setdefault(place.parent, []).append(count)
    return children


def _imbalance(children: Mapping[PurePosixPath, Sequence[int]]) -> float:
    uneven = [float(np.std(counts) / np.mean(counts)) for counts in children.values() if len(counts) > 1]
    return float(np.mean(uneven)) if uneven else 0.0


def _problem(frame: pd.DataFrame, passed: np.ndarray, papers: np.ndarray) -> str:
    if len(set(papers)) < 2:
        return "the answers cover fewer than two papers"
    if len(set(passed)) < 2:
        return "all answers pass" if passed[0] else "no answer passes"
    if len(set(papers)) <= frame.shape[1]:
        return f"{len(set(papers))} papers are too few for {frame.shape[1]} coefficients with errors clustered by paper"
    if np.linalg.matrix_rank(frame) < frame.shape[1]:
        return "the measures and systems are linearly dependent"
    if _separated(frame.to_numpy(), passed):
        return "the measures separate passing from failing answers, so the likelihood has no maximum"
    return ""


def _separated(rows: np.ndarray, passed: np.ndarray) -> bool:
    """Return whether some weights put no row on the wrong side and at least one row strictly on the right side.

    Then the likelihood has no maximum (Albert and Anderson 1984). A linear program maximizes the sum of the signed
    distances over weights in [-1, 1] that put no row on the wrong side. Such weights exist if the maximum is positive.
    """
    signed = rows * np.where(passed > 0, 1.0, -1.0)[:, np.newaxis]
    bounds = [(-1.0, 1.0)] * rows.shape[1]
    found = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(rows)), bounds=bounds)
    return bool(found.success and -found.fun > 1e-7)
