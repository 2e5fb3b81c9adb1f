"""`lmrbench published`: what do the published records of LMR-BENCH give, beside what the paper prints?"""

from __future__ import annotations

from typing import Annotated

import typer

from lmrbench.cli.agreement import pairs_sheet
from lmrbench.cli.options import JsonOption, print_json
from lmrbench.cli.terminal import console, say
from lmrbench.report.render.tables import sheet, show
from lmrbench.report.render.text import markdown


def published(
    json: JsonOption = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Recompute the figures of the LMR-BENCH paper from its published records, beside the printed ones.

    Each figure is exact, differs, or is not recomputable, and then the reason is said. Below: how far judge, people and
    unit tests agree, with intervals that come from drawing whole papers. What agents did: `lmrbench analyse actions`.
    """
    from lmrbench.integrations.lmr_bench.published import against, annotators, figures

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
        pairs_sheet(pairs),
    ]
    if as_markdown:
        print("\n".join(map(markdown, sheets)))
        return
    for item in sheets:
        show(item, console())
    exact = sum(item.comparison == "exact" for item in found)
    say(f"{len(found)} figures: {exact} exact, {sum(item.comparison == 'differs' for item in found)} differ")
