"""A report as one page of HTML that needs nothing else: tables with what they mean, and figures."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from lmrbench.report.findings import by_tier, not_submitted
from lmrbench.text import printable
from lmrbench.version import __version__

if TYPE_CHECKING:
    from lmrbench.report.findings import Findings
    from lmrbench.report.render.tables import Sheet


class Drawing(NamedTuple):
    """A figure, as SVG, and what it shows and does not show, in whole sentences."""

    title: str
    svg: str
    note: str


def page(findings: Findings, tables: Sequence[Sheet]) -> str:
    """The page. Names and reasons are text there, whatever they hold.

    tables: of the findings.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["printable"] = lambda text: printable(text, lines=True)
    template = environment.from_string((files("lmrbench.report.render") / "report.html.jinja").read_text("utf-8"))
    return template.render(
        folders=[str(folder) for folder in findings.folders],
        grades=len(findings.grades),
        warnings=findings.warnings,
        not_submitted=not_submitted(findings),
        # Of the first tier alone, which is the headline where there are several.
        drawings=_drawings(next(iter(by_tier(findings).values()))),
        tables=tables,
        version=__version__,
    )


def _drawings(findings: Findings) -> list[Drawing]:
    """Rates, costs where prices are known, progress where agents were traced, and rates by category.

    None where nothing was answered.
    """
    from lmrbench.report.figures import draw_categories, draw_costs, draw_progress, draw_rates
    from lmrbench.report.measures.effort import effort
    from lmrbench.report.measures.progress import curves
    from lmrbench.report.measures.rates import rates

    overall = rates(findings.grades, findings.usages, lambda task: "all").get("all", {})
    answered = {system: item for system, item in overall.items() if item.passed is not None}
    if not answered:
        return []
    found = [
        Drawing(
            "Answers that pass",
            draw_rates(answered),
            "The rate of each system (black) with its 95% intervals over tasks (Wilson) and over papers. Whether two "
            "systems differ is not read off overlapping intervals, but off the comparison of pairs below.",
        )
    ]
    efforts = effort(findings.grades, findings.usages)
    dollars = {
        system: item.dollars_per_answer for system, item in efforts.items() if item.dollars_per_answer is not None
    }
    if dollars:
        found.append(
            Drawing(
                "Cost and rate",
                draw_costs(dollars, answered),
                "Dollars for one graded answer, on average, against the rate with its 95% Wilson interval. Systems "
                "without known prices are missing; prices are those of the day of the run.",
            )
        )
    if traced := curves(findings.snapshots):
        found.append(
            Drawing(
                "Progress over turns",
                draw_progress(traced, list(answered)),
                "The mean over tasks of the share of cases that match after each turn, of the agents that were traced. "
                "An answer that has ended stays what it is. Matching cases are no partial credit: an answer passes if "
                "all of them match.",
            )
        )
    groups = rates(findings.grades, (), findings.categories.__getitem__)
    found.append(
        Drawing(
            "By category",
            draw_categories(groups, list(answered)),
            "The rate of each system in each category, with 95% Wilson intervals over tasks. Categories hold few "
            "tasks; most differences between them may be chance.",
        )
    )
    return found
