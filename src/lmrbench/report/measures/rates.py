"""How did each system do, over all and per group of tasks, and how sure is that?

And how did its answers end, why did they fail, and what did they cost?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from lmrbench.grading.records import Grade, Verdict
from lmrbench.records import Record, grouped
from lmrbench.report.statistics import CONFIDENCE, paper_interval, paper_of
from lmrbench.runs.records import UNANSWERED, AnswerStatus, Usage
from lmrbench.tasks.tiers.forensic import numbers_of
from lmrbench.text import counted


class Rate(Record):
    """The mean over tasks of the share of answers that passed, with two intervals at 95%.

    low, high: Wilson's (Journal of the American Statistical Association 22, 1927), which takes tasks as independent.
    It counts tasks: more answers to the same task make the rate steadier, but tell nothing of other tasks. paper_low,
    paper_high: from drawing whole papers (`resampling.paper_interval`); None where that is not defined.

    Samples that the machinery left unanswered are in no number but the last three: how many they are, and what the rate
    would be if all of them were counted as wrong, and if all were counted as right. cases: the mean share of cases that
    match. Without any answer, the rate, its intervals and the share of cases are None.
    """

    tasks: int
    papers: int
    answers: int
    passes: int
    passed: float | None
    low: float | None
    high: float | None
    paper_low: float | None
    paper_high: float | None
    cases: float | None
    unanswered: int
    passed_with_unanswered: float
    passed_with_unanswered_right: float

    @property
    def is_pooled(self) -> bool:
        """Whether the mean over tasks is also the share of all answers: of each task there are as many."""
        return self.passed is not None and abs(self.passed - self.passes / self.answers) < 1e-9

    def __str__(self) -> str:
        if self.passed is None:
            return f"none [{self.unanswered} unanswered]"
        if self.is_pooled:
            text = f"{self.passes}/{self.answers} = {self.passed:.1%}"
        else:
            text = f"{self.passed:.1%}, the mean over {counted(self.tasks, 'task')}"
        if self.unanswered:
            text += f" [{self.passed_with_unanswered:.1%} with {self.unanswered} unanswered counted wrong]"
        return text


class Cost(Record):
    """Of all samples of a system: tokens, dollars where prices are known, and seconds of work for one of them."""

    input_tokens: int
    output_tokens: int
    dollars: float | None
    seconds: float


class Example(Record):
    """One answer that failed, and the reason of its first failure."""

    task: str
    sample: int
    reason: str


class Failures(Record):
    """How many answers of a system failed first by this verdict, and one of them."""

    system: str
    verdict: Verdict
    answers: int
    example: Example


class ChangesFound(Record):
    """Of the answers of a system to forensic tasks with so many changes: those that pass, and the mean share found."""

    system: str
    changes: int
    answers: int
    passes: int
    found: float


def changes_found(grades: Iterable[Grade]) -> list[ChangesFound]:
    """By system and number of changes; grades of other tiers have no part in it."""
    graded = [(numbers[0], item) for item in grades if (numbers := numbers_of(item.task.partition("/")[2]))]
    return [
        ChangesFound(
            system=system,
            changes=changes,
            answers=len(items),
            passes=sum(item.passed for _, item in items),
            found=sum(item.found or 0.0 for _, item in items) / len(items),
        )
        for (system, changes), items in sorted(grouped(graded, lambda pair: (pair[1].system, pair[0])).items())
    ]


def rate(grades: Iterable[Grade], unanswered: Iterable[Usage] = ()) -> Rate:
    """The rate of one system over some tasks. unanswered: what has no grade."""
    from statsmodels.stats.proportion import proportion_confint

    of_tasks = grouped(grades, lambda item: item.task)
    missing = Counter(item.task for item in unanswered)
    shares = {task: [float(item.passed) for item in items] for task, items in of_tasks.items()}
    passes, answers = (int(sum(map(sum, shares.values()))), sum(map(len, shares.values())))
    passed = _mean(map(_mean, shares.values())) if shares else None
    low = high = None
    if passed is not None:
        low, high = proportion_confint(passed * len(shares), len(shares), alpha=1 - CONFIDENCE, method="wilson")
        low, high = max(0.0, low), min(1.0, high)
    paper_low, paper_high = paper_interval({task: _mean(values) for task, values in shares.items()}) or (None, None)
    return Rate(
        tasks=len(shares),
        papers=len(set(map(paper_of, shares))),
        answers=answers,
        passes=passes,
        passed=passed,
        low=low,
        high=high,
        paper_low=paper_low,
        paper_high=paper_high,
        cases=_mean(_mean(map(_share, items)) for items in of_tasks.values()) if of_tasks else None,
        unanswered=missing.total(),
        passed_with_unanswered=_counting(shares, missing, 0.0),
        passed_with_unanswered_right=_counting(shares, missing, 1.0),
    )


def rates(grades: Iterable[Grade], usages: Iterable[Usage], group: Callable[[str], str]) -> dict[str, dict[str, Rate]]:
    """Rates by group of tasks, then by system, both in the order in which they first occur. group: that of a task."""
    counted: list[Grade | Usage] = [*grades, *(item for item in usages if item.status in UNANSWERED)]
    return {
        name: {
            system: rate(
                [item for item in items if isinstance(item, Grade)],
                [item for item in items if isinstance(item, Usage)],
            )
            for system, items in grouped(members, lambda item: item.system).items()
        }
        for name, members in grouped(counted, lambda item: group(item.task)).items()
    }


def statuses(usages: Iterable[Usage]) -> dict[str, dict[AnswerStatus, int]]:
    """How many samples of each system ended in which way, the most frequent first."""
    return {
        system: dict(Counter(item.status for item in items).most_common())
        for system, items in grouped(usages, lambda item: item.system).items()
    }


def failures(grades: Iterable[Grade]) -> list[Failures]:
    """Answers that failed, by system and by the verdict on the first case that does not match; the most frequent first.

    An answer without any case counts as missing.
    """
    failed = [item for item in grades if not item.passed]
    found = []
    for (system, verdict), items in grouped(failed, _kind_of_failure).items():
        first = items[0].first_failure
        reason = f"{first.name or first.case}: {first.reason}" if first else "the check has no cases"
        example = Example(task=items[0].task, sample=items[0].sample, reason=reason)
        found.append(Failures(system=system, verdict=verdict, answers=len(items), example=example))
    return sorted(found, key=lambda item: -item.answers)


def _kind_of_failure(grade: Grade) -> tuple[str, Verdict]:
    first = grade.first_failure
    return grade.system, first.verdict if first else "missing"


def costs(usages: Iterable[Usage]) -> Mapping[str, Cost]:
    """What each system cost."""
    return {
        system: Cost(
            input_tokens=sum(item.input_tokens for item in items),
            output_tokens=sum(item.output_tokens for item in items),
            dollars=_total(item.dollars for item in items),
            seconds=_mean(item.seconds for item in items),
        )
        for system, items in grouped(usages, lambda item: item.system).items()
    }


def _counting(shares: Mapping[str, list[float]], missing: Mapping[str, int], value: float) -> float:
    """The rate if each missing sample of a task had this value."""
    tasks = shares.keys() | missing.keys()
    return _mean(_mean(shares.get(task, []) + [value] * missing.get(task, 0)) for task in sorted(tasks))


def _total(dollars: Iterable[float | None]) -> float | None:
    known = [item for item in dollars if item is not None]
    return sum(known) if known else None


def _share(item: Grade) -> float:
    return item.matched / len(item.cases) if item.cases else 0.0


def _mean(values: Iterable[float]) -> float:
    items = list(values)
    return sum(items) / len(items)
