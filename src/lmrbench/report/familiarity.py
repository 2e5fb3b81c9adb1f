"""Familiarity of a model with the goal files of tasks, and its correlation with success.

A text is familiar to a model that assigns high probabilities to its tokens. Conventional code also has a high
probability, so the probability alone says little. Each file is therefore compared with a renamed copy, in which local
variables have other names and the layout differs. If the file has a higher probability than its copy, this suggests
that the model has seen it. The goal files of a task are the files that a solver must complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lmrbench.grading.records import Grade
from lmrbench.records import Record, grouped
from lmrbench.report.token_probabilities import Probabilities
from lmrbench.source.renaming import renamed
from lmrbench.source.syntax import decode
from lmrbench.tasks.model import Task
from lmrbench.tasks.workspace import repository_files


class Familiarity(Record):
    """The mean probabilities of the tokens of a goal file and of the tokens of its renamed copy.

    Attributes:
        task: The id of the task.
        file: The path of the goal file in the repository.
        tokens: The number of tokens of the file to which the model assigns a probability.
        as_written: The mean probability of these tokens.
        renamed: The mean probability of the tokens of the renamed copy.
    """

    task: str
    file: str
    tokens: int
    as_written: float
    renamed: float

    @property
    def difference(self) -> float:
        """The mean probability of the file minus that of its renamed copy."""
        return self.as_written - self.renamed


class Correlation(Record):
    """The rank correlation, over tasks, between a system's share of correct answers and the familiarity of the task.

    The familiarity of a task is the mean of `Familiarity.difference` over its goal files.

    Attributes:
        system: The name of the system.
        tasks: The number of tasks over which the correlation is computed.
        rho: Spearman's rank correlation; None if it is undefined.
        p: The p value of `rho`; None if it is undefined.
        problem: The reason why the correlation is undefined; empty if it is defined.
    """

    system: str
    tasks: int
    rho: float | None
    p: float | None
    problem: str = ""


def familiarities(task: Task, probabilities: Probabilities) -> list[Familiarity]:
    """Return the familiarity of a model with the unmasked version of each goal file of a task.

    Args:
        task: The task.
        probabilities: A function that returns the probabilities that the model assigns to the tokens of a text.
    """
    files = repository_files(task)
    found = []
    for name in task.goal_files:
        text = decode(files[name])[0]
        chances, others = probabilities(text), probabilities(renamed(text))
        found.append(
            Familiarity(
                task=task.id,
                file=name,
                tokens=len(chances),
                as_written=_mean(chances),
                renamed=_mean(others),
            )
        )
    return found


def correlations(found: Iterable[Familiarity], grades: Sequence[Grade]) -> list[Correlation]:
    """Correlate the success of each system with the familiarity of the tasks for which it has grades.

    Args:
        found: The familiarity of a model with the goal files of the tasks.
        grades: The grades of all systems.
    """
    differences = {
        task: _mean([item.difference for item in items])
        for task, items in grouped(found, lambda item: item.task).items()
    }
    return [_correlation(system, items, differences) for system, items in grouped(grades, lambda x: x.system).items()]


def _correlation(system: str, grades: Sequence[Grade], differences: Mapping[str, float]) -> Correlation:
    from scipy.stats import spearmanr

    shares = {
        task: _mean([float(item.correct) for item in items])
        for task, items in grouped(grades, lambda item: item.task).items()
        if task in differences
    }
    levels = [differences[task] for task in shares]
    problem = ""
    if len(shares) < 3:
        problem = "fewer than three tasks"
    elif len(set(shares.values())) < 2:
        problem = "all tasks have the same share of correct answers"
    elif len(set(levels)) < 2:
        problem = "all tasks are equally familiar"
    if problem:
        return Correlation(system=system, tasks=len(shares), rho=None, p=None, problem=problem)
    result = spearmanr(levels, list(shares.values()))
    return Correlation(system=system, tasks=len(shares), rho=float(result.statistic), p=float(result.pvalue))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
