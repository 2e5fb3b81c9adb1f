"""`lmrbench published`: what do the published records of LMR-BENCH give, beside what the paper prints?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.options import JsonOption, print_json
from lmrbench.cli.tables import Sheet, markdown, sheet, show
from lmrbench.cli.terminal import console, say

if TYPE_CHECKING:
    from lmrbench.judging.agreement import Agreement


def published(
    json: JsonOption = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Recompute the figures of the LMR-BENCH paper from its published records, beside the printed ones.

    Each figure is exact, differs, or is not recomputable, and then the reason is said. Below: how far judge, people and
    unit tests agree, with intervals that come from drawing whole papers. What agents did: `lmrbench analyse actions`.
    """
    from lmrbench.analysis.published import against, annotators, figures

    found = figures()
    pairs = {
        "judge and people": against("judge", "human"),
        **{f"judge and annotator {name}": against("judge", "human", name) for name in annotators()},
        "unit tests and judge": against("unit_test", "judge"),
        "unit tests and people": against("unit_test", "human"),
    }
    if json:
        print_json(
            {
                "figures": [{**item.model_dump(), "comparison": item.comparison} for item in found],
                "agreement": {name: item.model_dump() for name, item in pairs.items()},
            }
        )
        return
    columns = ["place", "figure", "printed", "recomputed", ""]
    rows = [
        [
            item.place,
            item.name,
            " / ".join(item.printed),
            " / ".join(f"{value:.1f}" for value in item.recomputed),
            item.comparison,
        ]
        for item in found
    ]
    sheets = [
        sheet("What the paper prints, and what its records give, in percent", columns, rows),
        sheet("Notes", ["place", "note"], dict.fromkeys((item.place, item.note) for item in found if item.note)),
        _agreement_sheet(pairs),
    ]
    if as_markdown:
        print("\n".join(map(markdown, sheets)))
        return
    for item in sheets:
        show(item, console())
    exact = sum(item.comparison == "exact" for item in found)
    say(f"{len(found)} figures: {exact} exact, {sum(item.comparison == 'differs' for item in found)} differ")


def _agreement_sheet(pairs: dict[str, Agreement]) -> Sheet:
    rows = []
    for name, item in pairs.items():
        shares = [
            f"{share.count}/{share.of} = {share.share:.1%} ({share.low:.0%} to {share.high:.0%})"
            if share.share is not None
            else "not defined"
            for share in (item.same, item.conflicts)
        ]
        kappa = "not defined"
        if item.kappa is not None:
            kappa = f"{item.kappa:.2f} ({item.kappa_low:.2f} to {item.kappa_high:.2f})"
        rows.append([name, *shares, kappa])
    columns = ["who", "the same", "CC against LI", "Cohen's kappa"]
    return sheet(
        "How far they agree, with 95% intervals; a passed test counts as CC, a failed one as LI", columns, rows
    )
