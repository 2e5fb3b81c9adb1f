"""Agreement of people, judges and unit tests on the same answers.

The categories are CC (completely correct), LC (logic correct) and LI (logic incorrect). Unit tests are the checks of
lmrbench, so their verdicts are the grades: a correct answer counts as CC, any other answer as LI. Unit tests whose
verdicts were published by others are a separate rater. The category given by a judge is the majority of its votes. The
category given by people together is that of the adjudicated label (the final decision on an answer), or else the
majority of their labels. An answer without a majority is a tie and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path

from lmrbench.errors import UsageError
from lmrbench.grading.records import Grade
from lmrbench.judging.agreement import BINARY, Agreement, Reliability, agreement, binary, reliability
from lmrbench.judging.ballots import read_votes
from lmrbench.judging.labels import ADJUDICATED, majority, of_people
from lmrbench.records import Record
from lmrbench.resampling import paper_of
from lmrbench.runs.folder import read_run
from lmrbench.runs.records import CATEGORIES, Category, Label, PublishedVerdict
from lmrbench.tasks.submission import Answer

Ratings = Mapping[Answer, Category]


class PairAgreement(Record):
    """Agreement of two raters on the three categories, and on whether an answer is completely correct."""

    first: str
    second: str
    agreement: Agreement
    binary: Agreement


class GroupAgreement(Record):
    """Agreement among all annotators, or among all judges, on the three categories and on whether an answer is CC."""

    who: str
    reliability: Reliability
    binary: Reliability


class RaterAgreement(Record):
    """Agreement of all raters.

    Attributes:
        pairs: The agreement of pairs of raters.
        groups: The agreement among all annotators and among all judges.
        ties: The number of answers without a majority, by rater.
    """

    pairs: tuple[PairAgreement, ...]
    groups: tuple[GroupAgreement, ...]
    ties: dict[str, int]


def compare(
    labels: Sequence[Label],
    votes: Mapping[str, Mapping[Answer, Sequence[Category]]],
    grades: Iterable[Grade],
    published: Iterable[PublishedVerdict] = (),
) -> RaterAgreement:
    """Measure the agreement of people, judges and unit tests.

    Args:
        labels: Labels, the ratings that annotators gave to answers. Labels of the annotator `ADJUDICATED` are results
            of adjudication; they count for people together, not for a single annotator.
        votes: The categories of all votes on each answer, by judge.
        grades: The grades of answers, which are the verdicts of the unit tests.
        published: Verdicts of unit tests, as published by others.
    """
    by_annotator: dict[str, dict[Answer, Category]] = {}
    for label in labels:
        by_annotator.setdefault(label.annotator, {})[label.answer] = label.category
    verdicts = by_annotator.pop(ADJUDICATED, {})
    persons = {f"annotator {name}": said for name, said in sorted(by_annotator.items())}
    ties: dict[str, int] = {}
    judges = {
        f"judge {name}": _majorities(of_answers, ties, f"judge {name}") for name, of_answers in sorted(votes.items())
    }
    people: dict[str, Ratings] = {}
    if verdicts or len(persons) > 1:
        together = {answer: [item.category for item in items] for answer, items in of_people(labels).items()}
        people["people"] = _majorities(together, ties, "people")
    graded: dict[Answer, Category] = {item.answer: "CC" if item.correct else "LI" for item in grades}
    tested: dict[Answer, Category] = {item.answer: "CC" if item.passed else "LI" for item in published}
    tests = {name: said for name, said in (("unit tests", graded), ("published unit tests", tested)) if said}
    found = [
        *((one, other) for one in judges.items() for other in (*people.items(), *persons.items())),
        *combinations(judges.items(), 2),
        *combinations(persons.items(), 2),
        *((one, other) for one in tests.items() for other in (*judges.items(), *people.items(), *persons.items())),
        *combinations(tests.items(), 2),
    ]
    groups = {"annotators": persons, "judges": judges}
    return RaterAgreement(
        pairs=tuple(_pair(*one, *other) for one, other in found),
        groups=tuple(_group(who, list(members.values())) for who, members in groups.items() if members),
        ties=ties,
    )


def _majorities(votes: Mapping[Answer, Sequence[Category]], ties: dict[str, int], name: str) -> dict[Answer, Category]:
    """Return the majority category of each answer, and store the number of answers without one in `ties[name]`."""
    said = {answer: category for answer, of_answer in votes.items() if (category := majority(of_answer)) is not None}
    if len(said) < len(votes):
        ties[name] = len(votes) - len(said)
    return said


def _pair(first: str, one: Ratings, second: str, other: Ratings) -> PairAgreement:
    both = sorted(one.keys() & other.keys())
    papers = [paper_of(answer.task) for answer in both]
    ones, others = [one[answer] for answer in both], [other[answer] for answer in both]
    return PairAgreement(
        first=first,
        second=second,
        agreement=agreement(ones, others, papers),
        binary=agreement(binary(ones), binary(others), papers, BINARY),
    )


def _group(who: str, members: Sequence[Ratings]) -> GroupAgreement:
    answers = sorted({answer for said in members for answer in said})
    papers = [paper_of(answer.task) for answer in answers]
    ratings = [[said.get(answer) for said in members] for answer in answers]
    collapsed = [[None if label is None else binary([label])[0] for label in row] for row in ratings]
    return GroupAgreement(
        who=who,
        reliability=reliability(ratings, papers, CATEGORIES),
        binary=reliability(collapsed, papers, BINARY),
    )


def compare_runs(labels: Sequence[Label], folders: Iterable[Path]) -> RaterAgreement:
    """Measure the agreement of people, judges and unit tests on the answers in run folders.

    Args:
        labels: Labels of annotators; see `compare`.
        folders: The run folders, with grades, votes and published verdicts.

    Raises:
        UsageError: Two folders have a grade of the same answer.
    """
    grades: dict[Answer, Grade] = {}
    published: list[PublishedVerdict] = []
    votes: dict[str, dict[Answer, list[Category]]] = {}
    for folder in folders:
        run = read_run(folder)
        published += run.published
        for grade in run.grades:
            if grade.answer in grades:
                raise UsageError(f"{folder}: {grade.answer} is also graded in another run; name only one of these runs")
            grades[grade.answer] = grade
        for judge, said in read_votes(folder).items():
            votes.setdefault(judge, {}).update(said)
    return compare(labels, votes, grades.values(), published)
