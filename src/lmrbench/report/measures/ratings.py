"""Ratings by judges and people: categories, error classes, and agreement with the unit tests.

The categories are CC (completely correct), LC (logic correct) and LI (logic incorrect). Unit tests are the checks of
lmrbench: an answer passes them if its grade is correct. A rater is a judge, an annotator, all judges together, or all
people together. The category given by one judge or by all judges is the majority of their votes. The category given by
people together is that of the adjudicated label (the final decision on an answer), or else the majority of their
labels. An error class is the kind of error that a vote or label names for an answer rated LC or LI.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from lmrbench.grading.records import Grade
from lmrbench.judging.ballots import ALL_JUDGES, latest
from lmrbench.judging.labels import ADJUDICATED, majority, of_people
from lmrbench.records import Record, grouped
from lmrbench.report.measures import Measured, measure
from lmrbench.report.render.cells import UNDEFINED, count_and_share, percent
from lmrbench.report.render.tables import Sheet, sheet
from lmrbench.runs.records import CATEGORIES, ERROR_CLASSES, Category, ErrorClass, Judgement, Label
from lmrbench.tasks.submission import Answer

if TYPE_CHECKING:
    from lmrbench.report.findings import Findings

# The name of the rater that combines all annotators.
PEOPLE = "people"
Name = TypeVar("Name", bound=str)


class Rating(Record):
    """The rating of one answer by one rater.

    Attributes:
        category: The category; None without a majority.
        error_class: The error class named most often by the votes or labels for this category; None if they name no
            class, or on ties.
    """

    rater: str
    system: str
    task: str
    sample: int
    category: Category | None
    error_class: ErrorClass | None

    @property
    def answer(self) -> Answer:
        """The answer that is rated."""
        return Answer(self.system, self.task, self.sample)


class Tally(Record):
    """Counts of one rater's ratings of the answers of one system.

    Attributes:
        answers: The number of rated answers.
        categories: The number of answers in each category.
        undecided: The number of rated answers without a category.
        error_classes: The number of answers rated LC or LI, by error class.
        unclassed: The number of answers rated LC or LI that have no error class.
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
        """The number of answers rated LC or LI."""
        return self.categories["LC"] + self.categories["LI"]

    @property
    def error_shares(self) -> dict[ErrorClass, float]:
        """The share of each error class among the answers rated LC or LI; empty if there are no such answers."""
        return {name: count / self.faulty for name, count in self.error_classes.items() if self.faulty}


class BesideTests(Record):
    """Counts of the answers of one system by the ratings of one rater and the results of the unit tests.

    Attributes:
        answers: The number of answers with both a category and a grade; only these count.
        passes: The number of answers that pass the unit tests.
        correct: The number of answers rated CC.
        passes_alone: The number of answers that pass the unit tests but are not rated CC.
        correct_alone: The number of answers that fail the unit tests but are rated CC.
    """

    system: str
    rater: str
    answers: int
    passes: int
    correct: int
    passes_alone: int
    correct_alone: int


class Opposite(Record):
    """An answer that passes the unit tests but is rated LI, or fails them but is rated CC.

    Attributes:
        passed: Whether the answer passes the unit tests.
        category: LI if the answer passes, CC if it fails.
        raters: The raters who contradict the unit tests.
    """

    system: str
    task: str
    sample: int
    passed: bool
    category: Category
    raters: tuple[str, ...]

    @property
    def answer(self) -> Answer:
        """The answer that is rated."""
        return Answer(self.system, self.task, self.sample)


def ratings(judgements: Iterable[Judgement], labels: Sequence[Label]) -> list[Rating]:
    """Return the ratings of each judge, all judges, each annotator, and people together, in this order.

    All judges together count as a rater if there are several judges. People together count as a rater if there are
    several annotators, or if there are adjudicated labels.

    Args:
        judgements: Votes of judges. If a vote was repeated, the last one counts.
        labels: Labels, the ratings that annotators gave to answers.
    """
    of_raters: list[tuple[str, Sequence[Judgement | Label]]] = [*_of_judges(latest(judgements)), *_of_people(labels)]
    return [
        _rating(rater, answer, said)
        for rater, items in of_raters
        for answer, said in grouped(items, lambda item: Answer(item.system, item.task, item.sample)).items()
    ]


def tallies(found: Iterable[Rating]) -> list[Tally]:
    """Count the ratings, by system and rater."""
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
    """Compare each rater with the unit tests, by system and rater, on the answers with both a category and a grade."""
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
    """Return the answers on which a rater contradicts the unit tests, sorted by system, task and sample."""
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
    """Return the error class that is named most often; None if no class is named, or on ties."""
    counts = Counter(classes).most_common(2)
    named, times = counts[0] if counts else (None, 0)
    return None if [count for _, count in counts[1:]] == [times] else named


def _by_system_and_rater(found: Iterable[Rating]) -> Iterator[tuple[str, str, list[Rating]]]:
    for system, of_system in grouped(found, lambda item: item.system).items():
        for rater, items in grouped(of_system, lambda item: item.rater).items():
            yield system, rater, items


def _passed(grades: Iterable[Grade]) -> dict[Answer, bool]:
    return {item.answer: item.correct for item in grades}


def _counts(values: Iterable[Name | None], known: Iterable[Name]) -> dict[Name, int]:
    """Count the occurrences of each known value, in the order of `known`."""
    counts = Counter(values)
    return {value: counts[value] for value in known}


@measure()
def measured_ratings(findings: Findings) -> Measured:
    """Compute the ratings of judges and people. Without ratings, there are no tables."""
    rated = ratings(findings.judgements, findings.labels)
    counted, beside, contrary = tallies(rated), beside_tests(rated, findings.grades), opposites(rated, findings.grades)
    commands = [findings.commands[item.answer] for item in contrary]
    numbers = {
        "tallies": counted,
        "beside_tests": beside,
        "opposites": [
            {**item.model_dump(), "command": command} for item, command in zip(contrary, commands, strict=True)
        ],
    }
    if not rated:
        return Measured(numbers)
    sheets = [_categories(counted), _beside_tests(beside)]
    if contrary:
        sheets.append(_opposites(contrary, commands))
    if any(item.faulty for item in counted):
        sheets.append(errors_sheet(counted))
    return Measured(numbers, sheets)


def errors_sheet(counted: Sequence[Tally]) -> Sheet:
    """Return the table of error classes, by system and rater."""
    columns = ["system", "rater", "LC or LI", *ERROR_CLASSES, "none"]
    rows = [
        [
            item.system,
            item.rater,
            item.faulty,
            *(count_and_share(count, item.faulty) for count in (*item.error_classes.values(), item.unclassed)),
        ]
        for item in counted
    ]
    return sheet(
        "Error classes of answers rated LC or LI",
        columns,
        rows,
        numbers=columns[2:],
        spare=["none"],
        name="errors",
        note="The number and share of answers with each error class, among the answers that a judge or a person rates "
        "LC or LI. An answer counts once, with the class that is named most often by the votes or labels for its "
        "category. The column 'none' counts answers for which no class is named, or several equally often. Raters may "
        "find fault with different answers, so rows need not describe the same answers.",
    )


def _categories(counted: Sequence[Tally]) -> Sheet:
    columns = ["system", "rater", "answers", *CATEGORIES, "none"]
    rows = [
        [
            item.system,
            item.rater,
            item.answers,
            *(percent(item.categories[name] / item.answers) for name in CATEGORIES),
            item.undecided,
        ]
        for item in counted
    ]
    return sheet(
        "Ratings by judges and people",
        columns,
        rows,
        numbers=columns[2:],
        spare=["none"],
        name="ratings",
        note="The share of answers in each category: completely correct (CC), logic correct (LC) or logic incorrect "
        "(LI). The category is the majority of a judge's votes, or that of an annotator's label; the column 'none' "
        "gives the number of answers for which no category has more than half of the votes. If a vote was repeated, "
        "the last one counts. For people together, the adjudicated label counts, or else the majority of their labels. "
        "A judge reads code and does not run it.",
    )


def _beside_tests(counted: Sequence[BesideTests]) -> Sheet:
    columns = ["system", "rater", "answers", "tests pass", "called CC", "passes, not CC", "fails, but CC"]
    rows = [
        [
            item.system,
            item.rater,
            item.answers,
            *(
                count_and_share(count, item.answers) if item.answers else UNDEFINED
                for count in (item.passes, item.correct, item.passes_alone, item.correct_alone)
            ),
        ]
        for item in counted
    ]
    return sheet(
        "Unit tests compared with judges and people (completely correct or not)",
        columns,
        rows,
        numbers=columns[2:],
        spare=["answers"],
        name="beside-tests",
        note="Only answers that have both a grade and a category by the rater count. The columns give the numbers of "
        "answers that pass the tests, that the rater calls CC, that pass but are not called CC, and that fail but are "
        "called CC. Rows may describe different answers; lmrbench analyse agreement compares judges and people on the "
        "same answers, with intervals.",
    )


def _opposites(contrary: Sequence[Opposite], commands: Sequence[str]) -> Sheet:
    columns = ["system", "task", "sample", "tests", "says", "rater", "to see it"]
    rows = [
        [
            item.system,
            item.task,
            item.sample,
            "pass" if item.passed else "fail",
            item.category,
            ", ".join(item.raters),
            command,
        ]
        for item, command in zip(contrary, commands, strict=True)
    ]
    return sheet(
        "Answers on which a judge or a person contradicts the unit tests",
        columns,
        rows,
        numbers=["sample"],
        spare=["sample", "to see it"],
        name="opposites",
        note="Answers that pass and are rated logic incorrect, or fail and are rated completely correct, with the "
        "raters who gave these ratings. The command shows the code of the answer and its failed cases.",
    )
