"""`lmrbench agreement`: how far do people, judges and unit tests agree?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.options import JsonOption, print_json, run_folders
from lmrbench.cli.terminal import console, say
from lmrbench.report.render.tables import Sheet, sheet, show
from lmrbench.text import counted

if TYPE_CHECKING:
    from lmrbench.grading.records import Grade
    from lmrbench.judging.agreement import Agreement, Reliability, Share
    from lmrbench.report.measures.raters import RaterAgreement
    from lmrbench.runs.records import Category


def agreement(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="LABELS|RUN...", help="Files of labels, and run folders with grades and judgements."),
    ],
    json: JsonOption = False,
) -> None:
    """Compare judges, people and unit tests on the same answers.

    Of each two: how often they say the same, how often one says CC and the other LI, and Cohen's kappa. Of all
    annotators and of all judges: Fleiss' kappa and Krippendorff's alpha. A passed test counts as CC, a failed one as
    LI. Intervals come from drawing whole papers. What is not defined says why.
    """
    from lmrbench.errors import UsageError
    from lmrbench.judging.ballots import read_votes
    from lmrbench.judging.labels import read_labels
    from lmrbench.report.measures.raters import compare
    from lmrbench.runs.folder import read_run
    from lmrbench.tasks.submission import Answer

    grades: dict[Answer, Grade] = {}
    votes: dict[str, dict[Answer, list[Category]]] = {}
    for path in run_folders(path for path in paths if path.is_dir()):
        for grade in read_run(path).grades:
            answer = Answer(grade.system, grade.task, grade.sample)
            if answer in grades:
                raise UsageError(f"{path}: {answer} is in another run, too; compare one of them")
            grades[answer] = grade
        for judge, said in read_votes(path).items():
            votes.setdefault(judge, {}).update(said)
    found = compare(read_labels(path for path in paths if not path.is_dir()), votes, grades.values())
    if not found.groups:
        raise UsageError("nobody judged these answers but the unit tests; name a file of labels, too")
    if json:
        print_json(found.model_dump())
        return
    for item in _sheets(found):
        show(item, console())
    for name, count in found.ties.items():
        say(f"{name}: no majority on {counted(count, 'answer')}; left out")


def pairs_sheet(pairs: Mapping[str, Agreement], collapsed: Iterable[Agreement] = ()) -> Sheet:
    """How far two agree, by who they are; collapsed: the same on whether an answer is CC."""
    rows = [[name, _share(item.same), _share(item.conflicts), _kappa(item)] for name, item in pairs.items()]
    columns = ["who", "the same", "CC against LI", "Cohen's kappa"]
    if binary := list(collapsed):
        columns.append("kappa of CC or not")
        rows = [[*row, _kappa(item)] for row, item in zip(rows, binary, strict=True)]
    title = "How far they agree, with 95% intervals; a passed test counts as CC, a failed one as LI"
    return sheet(title, columns, rows)


def _sheets(found: RaterAgreement) -> list[Sheet]:
    sheets = []
    if found.pairs:
        names = {f"{item.first} and {item.second}": item.agreement for item in found.pairs}
        sheets.append(pairs_sheet(names, [item.binary for item in found.pairs]))
    rows = []
    for group in found.groups:
        rows += [_group(group.who, group.reliability), _group(f"{group.who}, CC or not", group.binary)]
    columns = ["who", "raters", "items", "labels", "by all", "Fleiss' kappa", "alpha, nominal", "alpha, ordinal"]
    title = "How far all of them agree, over items with two labels or more; Fleiss' kappa over those that all labelled"
    return [*sheets, sheet(title, columns, rows, numbers=columns[1:5], spare=["labels"])]


def _group(who: str, item: Reliability) -> list[object]:
    statistics = (item.fleiss, item.alpha_nominal, item.alpha_ordinal)
    cells = [_number(found.value, found.low, found.high, found.why) for found in statistics]
    return [who, item.raters, item.items, item.labels, item.complete, *cells]


def _share(item: Share) -> str:
    if item.share is None:
        return "not defined"
    interval = "" if item.low is None else f" ({item.low:.0%} to {item.high:.0%})"
    return f"{item.count}/{item.of} = {item.share:.1%}{interval}"


def _kappa(item: Agreement) -> str:
    return _number(item.kappa, item.kappa_low, item.kappa_high, item.why)


def _number(value: float | None, low: float | None, high: float | None, why: str) -> str:
    if value is None:
        return f"not defined: {why}"
    return f"{value:z.2f} (no interval: {why})" if low is None else f"{value:z.2f} ({low:z.2f} to {high:z.2f})"
