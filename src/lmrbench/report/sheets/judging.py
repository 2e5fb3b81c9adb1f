"""The tables and lines that `lmrbench judge` and `lmrbench analyse agreement` print.

Judges and people rate an answer as CC (completely correct), LC (logic correct) or LI (logic incorrect).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from lmrbench.report.render.tables import Sheet, sheet
from lmrbench.runs.records import CATEGORIES, ERROR_CLASSES, Judgement
from lmrbench.text import counted

if TYPE_CHECKING:
    from lmrbench.judging.agreement import Agreement, Reliability, Share
    from lmrbench.judging.ballots import Shares
    from lmrbench.report.measures.raters import RaterAgreement


def votes_sheets(found: Sequence[Shares]) -> list[Sheet]:
    """Return the table of answers by category and, if judges named error classes, the table of votes by error class."""
    rows = []
    for item in found:
        counts = [*item.categories.values(), item.ties, item.unjudged, item.unusable]
        rows.append([item.system, item.judge, item.answers, *(f"{n / item.answers:.1%}" for n in counts), item.split])
    columns = ["system", "judge", "answers", *CATEGORIES, "tie", "unjudged", "unusable", "votes differ"]
    title = "Answers by category (majority of the votes)"
    tables = [sheet(title, columns, rows, numbers=columns[2:], spare=["votes differ", "answers"])]
    errors = [
        [item.system, item.judge, *(item.error_classes.get(name, 0) for name in ERROR_CLASSES)]
        for item in found
        if item.error_classes
    ]
    if errors:
        columns = ["system", "judge", *ERROR_CLASSES]
        tables.append(sheet("Votes for LC and LI, by error class", columns, errors, numbers=columns[2:]))
    return tables


def votes_facts(found: Sequence[Shares], judgements: Sequence[Judgement]) -> dict[str, object]:
    """Return the votes, and their counts by answer and by system, for JSON."""
    from lmrbench.judging.ballots import ballots

    return {
        "shares": [item.model_dump() for item in found],
        "answers": [
            {**item.model_dump(), "majority": item.majority, "disagreement": item.disagreement}
            for item in ballots(judgements)
        ],
        "judgements": [item.model_dump(mode="json") for item in judgements],
    }


def judges_costs(found: Sequence[Shares], judges: Iterable[str]) -> Iterator[str]:
    """Yield a line for each judge with the tokens that it used and their cost."""
    for judge in judges:
        own = [item for item in found if item.judge == judge]
        known = [item.dollars for item in own if item.dollars is not None]
        dollars = f", ${sum(known):.4f}" if known else ""
        read, written = sum(item.input_tokens for item in own), sum(item.output_tokens for item in own)
        yield f"{judge}: {read:,} tokens in, {written:,} out{dollars}"


def agreement_sheets(found: RaterAgreement) -> list[Sheet]:
    """Return the tables of agreement between pairs of raters, and of agreement among all annotators or all judges."""
    sheets = []
    if found.pairs:
        names = {f"{item.first} and {item.second}": item.agreement for item in found.pairs}
        sheets.append(pairs_sheet(names, [item.binary for item in found.pairs]))
    rows = []
    for group in found.groups:
        rows += [_group(group.who, group.reliability), _group(f"{group.who}, CC or not", group.binary)]
    columns = [
        "group",
        "raters",
        "items",
        "labels",
        "labelled by all",
        "Fleiss' kappa",
        "alpha, nominal",
        "alpha, ordinal",
    ]
    title = "Agreement within groups of raters (items with at least two labels; Fleiss' kappa: items labelled by all)"
    return [*sheets, sheet(title, columns, rows, numbers=columns[1:5], spare=["labels"])]


def ties_lines(found: RaterAgreement) -> Iterator[str]:
    """Yield a line for each rater that has answers without a majority of votes or labels."""
    for name, count in found.ties.items():
        yield f"{name}: left out {counted(count, 'answer')} without a majority"


def pairs_sheet(pairs: Mapping[str, Agreement], collapsed: Iterable[Agreement] = ()) -> Sheet:
    """Return the table of the agreement between pairs of raters.

    Args:
        pairs: The agreement on the three categories, by the names of the raters.
        collapsed: The agreement on whether an answer is CC, in the order of `pairs`. If empty, the table
            has no column for it.
    """
    rows = [[name, _share(item.same), _share(item.conflicts), _kappa(item)] for name, item in pairs.items()]
    columns = ["raters", "same category", "CC against LI", "Cohen's kappa"]
    if binary := list(collapsed):
        columns.append("kappa, CC or not")
        rows = [[*row, _kappa(item)] for row, item in zip(rows, binary, strict=True)]
    title = "Agreement of two raters, with 95% intervals (tests, as a rater, give CC if an answer passes, otherwise LI)"
    return sheet(title, columns, rows)


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
