"""What judges and people say of answers, counted, and where it is not what the unit tests say.

A rater is a judge, an annotator, or all of either together. A judge says what most of its votes say, all judges what
most votes of all of them say; people together say what was adjudicated, or else what most of them say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from lmrbench.grading.records import Grade
from lmrbench.judging.ballots import ALL_JUDGES, latest
from lmrbench.judging.labels import ADJUDICATED, majority, of_people
from lmrbench.records import Record, grouped
from lmrbench.runs.records import CATEGORIES, ERROR_CLASSES, Category, ErrorClass, Judgement, Label
from lmrbench.tasks.submission import Answer

# In the place of an annotator's name: all annotators together.
PEOPLE = "people"
Value = TypeVar("Value", bound=str)


class Rating(Record):
    """What one rater says of one answer.

    category: None without a majority. error_class: the one that most votes or labels of the majority name; None where
    none is named, or several equally often.
    """

    rater: str
    system: str
    task: str
    sample: int
    category: Category | None
    error_class: ErrorClass | None

    @property
    def answer(self) -> Answer:
        """Which answer it is of."""
        return Answer(self.system, self.task, self.sample)


class Tally(Record):
    """How often one rater says what, of the answers of one system.

    answers: all that it rated. undecided: those of them without a category. error_classes: of the answers that are LC
    or LI, how many are of each class. unclassed: those of them without a class.
    """

    system: str
    rater: str
    answers: int
    categories: dict[Category, int]
    undecided: int
    error_classes: dict[ErrorClass, int]
    unclassed: int

    @property
    def faulty(self) -> int:
        """The answers that are LC or LI."""
        return self.categories["LC"] + self.categories["LI"]

    @property
    def error_shares(self) -> dict[ErrorClass, float]:
        """Of the answers that are LC or LI, the share of each class; {} without any."""
        return {name: count / self.faulty for name, count in self.error_classes.items() if self.faulty}


class BesideTests(Record):
    """One rater beside the unit tests, on the answers of one system that have both a grade and a category of it.

    passes: answers that pass. correct: answers that it calls CC. passes_alone: that pass, and that it does not call
    CC. correct_alone: that fail, and that it calls CC.
    """

    system: str
    rater: str
    answers: int
    passes: int
    correct: int
    passes_alone: int
    correct_alone: int


class Opposite(Record):
    """An answer that passes and is called LI, or fails and is called CC. raters: who says so."""

    system: str
    task: str
    sample: int
    passed: bool
    category: Category
    raters: tuple[str, ...]

    @property
    def answer(self) -> Answer:
        """Which answer it is."""
        return Answer(self.system, self.task, self.sample)


def ratings(judgements: Iterable[Judgement], labels: Sequence[Label]) -> list[Rating]:
    """What each judge says, then all judges where there are several, each annotator, and people together.

    Of a vote that was asked for again, the last judgement counts. People together are a rater where several annotators
    labelled, or something was adjudicated.
    """
    of_raters: list[tuple[str, Sequence[Judgement | Label]]] = [*_of_judges(latest(judgements)), *_of_people(labels)]
    return [
        _rating(rater, answer, said)
        for rater, items in of_raters
        for answer, said in grouped(items, lambda item: Answer(item.system, item.task, item.sample)).items()
    ]


def tallies(found: Iterable[Rating]) -> list[Tally]:
    """How often each rater says what, by system and rater."""
    return [
        Tally(
            system=system,
            rater=rater,
            answers=len(items),
            categories=_counts((item.category for item in items), CATEGORIES),
            undecided=sum(item.category is None for item in items),
            error_classes=_counts((item.error_class for item in items), ERROR_CLASSES),
            unclassed=sum(item.category in ("LC", "LI") and item.error_class is None for item in items),
        )
        for system, rater, items in _by_system_and_rater(found)
    ]


def beside_tests(found: Iterable[Rating], grades: Iterable[Grade]) -> list[BesideTests]:
    """Each rater beside the unit tests, by system and rater; over no answers where the rater said nothing of them."""
    passed = _passed(grades)
    counted = []
    for system, rater, items in _by_system_and_rater(found):
        both = [
            (passed[item.answer], item.category == "CC") for item in items if item.category and item.answer in passed
        ]
        counted.append(
            BesideTests(
                system=system,
                rater=rater,
                answers=len(both),
                passes=sum(passes for passes, _ in both),
                correct=sum(correct for _, correct in both),
                passes_alone=both.count((True, False)),
                correct_alone=both.count((False, True)),
            )
        )
    return counted


def opposites(found: Iterable[Rating], grades: Iterable[Grade]) -> list[Opposite]:
    """The answers of which some rater says the opposite of the unit tests, by system, task and sample."""
    passed = _passed(grades)
    contrary = [
        item for item in found if item.answer in passed and item.category == ("LI" if passed[item.answer] else "CC")
    ]
    return [
        Opposite(
            **answer._asdict(),
            passed=passed[answer],
            category="LI" if passed[answer] else "CC",
            raters=tuple(item.rater for item in items),
        )
        for answer, items in sorted(grouped(contrary, lambda item: item.answer).items())
    ]


def _of_judges(votes: Sequence[Judgement]) -> Iterator[tuple[str, Sequence[Judgement]]]:
    by_judge = grouped(votes, lambda item: item.judge)
    yield from ((f"judge {name}", items) for name, items in by_judge.items())
    if len(by_judge) > 1:
        yield ALL_JUDGES, votes


def _of_people(labels: Sequence[Label]) -> Iterator[tuple[str, Sequence[Label]]]:
    by_annotator = grouped(labels, lambda item: item.annotator)
    verdicts = by_annotator.pop(ADJUDICATED, [])
    yield from ((f"annotator {name}", items) for name, items in sorted(by_annotator.items()))
    if verdicts or len(by_annotator) > 1:
        yield PEOPLE, [item for items in of_people(labels).values() for item in items]


def _rating(rater: str, answer: Answer, said: Sequence[Judgement | Label]) -> Rating:
    category = majority([item.category for item in said if item.category])
    named = [item.error_class for item in said if item.error_class and item.category == category]
    return Rating(rater=rater, **answer._asdict(), category=category, error_class=_most_named(named))


def _most_named(classes: Iterable[ErrorClass]) -> ErrorClass | None:
    """The class that is named most often; None without one, or where several are."""
    counts = Counter(classes).most_common(2)
    named, times = counts[0] if counts else (None, 0)
    return None if [count for _, count in counts[1:]] == [times] else named


def _by_system_and_rater(found: Iterable[Rating]) -> Iterator[tuple[str, str, list[Rating]]]:
    for system, of_system in grouped(found, lambda item: item.system).items():
        for rater, items in grouped(of_system, lambda item: item.rater).items():
            yield system, rater, items


def _passed(grades: Iterable[Grade]) -> dict[Answer, bool]:
    return {Answer(item.system, item.task, item.sample): item.passed for item in grades}


def _counts(values: Iterable[Value | None], known: Iterable[Value]) -> dict[Value, int]:
    """How often each known value occurs, in the order of these."""
    counts = Counter(values)
    return {value: counts[value] for value in known}
