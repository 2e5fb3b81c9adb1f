"""The tables of what judges and people say of answers, alone and beside the unit tests, with a note on each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lmrbench.report.render.cells import UNDEFINED, of_all, percent
from lmrbench.report.render.tables import Sheet, sheet

if TYPE_CHECKING:
    from lmrbench.report.findings import Findings
    from lmrbench.report.measures.ratings import BesideTests, Opposite, Tally


def rated_sheets(findings: Findings) -> list[Sheet]:
    """What each judge and each annotator says, beside the tests, and the errors that they name; [] without any."""
    from lmrbench.report.measures.ratings import beside_tests, opposites, ratings, tallies

    rated = ratings(findings.judgements, findings.labels)
    if not rated:
        return []
    counted, contrary = tallies(rated), opposites(rated, findings.grades)
    found = [_categories(counted), _beside_tests(beside_tests(rated, findings.grades))]
    if contrary:
        found.append(_opposites(contrary, [findings.commands[item.answer] for item in contrary]))
    if any(item.faulty for item in counted):
        found.append(errors_sheet(counted))
    return found


def errors_sheet(counted: Sequence[Tally]) -> Sheet:
    """What is wrong with the answers that are not completely correct, by system and by who says it."""
    from lmrbench.runs.records import ERROR_CLASSES

    columns = ["system", "rater", "LC or LI", *ERROR_CLASSES, "none"]
    rows = [
        [
            item.system,
            item.rater,
            item.faulty,
            *(of_all(count, item.faulty) for count in (*item.error_classes.values(), item.unclassed)),
        ]
        for item in counted
    ]
    return sheet(
        "Errors of the answers that are called LC or LI, by class",
        columns,
        rows,
        numbers=columns[2:],
        spare=["none"],
        name="errors",
        note="Of the answers that a judge or a person calls LC or LI, how many have which kind of error, and their "
        "share. An answer counts once, with the class that most votes or labels of its category name; none where none "
        "is named, or several equally often. Raters may find different answers faulty, so that rows need not be of "
        "the same answers.",
    )


def _categories(counted: Sequence[Tally]) -> Sheet:
    from lmrbench.runs.records import CATEGORIES

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
        "What judges and people say",
        columns,
        rows,
        numbers=columns[2:],
        spare=["none"],
        name="ratings",
        note="What most votes of a judge, or an annotator's label, say of each answer: completely correct (CC), logic "
        "correct (LC), logic incorrect (LI); none where no category has more than half of the votes. Of a vote that "
        "was asked again the last one counts. People together say what was adjudicated, or else what most of them "
        "say. A judge reads code and runs none of it.",
    )


def _beside_tests(counted: Sequence[BesideTests]) -> Sheet:
    columns = ["system", "rater", "answers", "tests pass", "called CC", "passes, not CC", "fails, but CC"]
    rows = [
        [
            item.system,
            item.rater,
            item.answers,
            *(
                of_all(count, item.answers) if item.answers else UNDEFINED
                for count in (item.passes, item.correct, item.passes_alone, item.correct_alone)
            ),
        ]
        for item in counted
    ]
    return sheet(
        "Completely correct or not: unit tests beside judges and people",
        columns,
        rows,
        numbers=columns[2:],
        spare=["answers"],
        name="beside-tests",
        note="On the answers that have both a grade and a category of the rater: how many pass, how many the rater "
        "calls CC, and how many of each only one of the two accepts. Rows may be of different answers; "
        "lmrbench analyse agreement compares judges and people on the same ones, with intervals.",
    )


def _opposites(contrary: Sequence[Opposite], commands: Sequence[str]) -> Sheet:
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
    columns = ["system", "task", "sample", "tests", "says", "rater", "to see it"]
    return sheet(
        "Where a judge or a person says the opposite of the tests; lmrbench why shows the answer",
        columns,
        rows,
        numbers=["sample"],
        spare=["sample", "to see it"],
        name="opposites",
        note="Answers that pass and are called logic incorrect, or fail and are called completely correct, and who "
        "says so. The command shows the code of the answer and its failed cases.",
    )
