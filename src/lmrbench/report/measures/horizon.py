"""The reproduction horizon of each system, from its forensic tasks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lmrbench.grading.records import Grade
from lmrbench.records import grouped
from lmrbench.report.horizon import Outcome, compare, horizon
from lmrbench.report.measures import Measured, measure
from lmrbench.report.render.cells import NumberedText, number, percent
from lmrbench.report.render.tables import sheet
from lmrbench.resampling import paper_of
from lmrbench.tasks.tiers.forensic import LADDER, draw_id

if TYPE_CHECKING:
    from lmrbench.report.findings import Findings


def outcomes(grades: Iterable[Grade]) -> dict[str, list[Outcome]]:
    """Return the answers to forensic tasks, by system. Grades of other tiers are ignored."""
    forensic = [(draw.count, item) for item in grades if (draw := draw_id(item.task.partition("/")[2]))]
    return {
        system: [Outcome(paper_of(item.task), changes, float(item.correct)) for changes, item in items]
        for system, items in grouped(forensic, lambda pair: pair[1].system).items()
    }


@measure()
def measured_horizons(findings: Findings) -> Measured:
    """Measure the horizons of all systems, and compare each two of them."""
    answers = outcomes(findings.grades)
    horizons = [horizon(system, items) for system, items in answers.items()]
    ratios = compare(answers)
    columns = ["system", "answers", "papers", "horizon", "95% interval", *(f"{changes} changes" for changes in LADDER)]
    table = sheet(
        "Reproduction horizon",
        columns,
        [
            [
                item.system,
                item.tasks,
                item.papers,
                number(item.k50, ".2f"),
                _interval(item.low, item.high),
                *(percent(share) for share in item.shares.values()),
            ]
            for item in horizons
        ],
        numbers=columns[1:],
        spare=[f"{changes} changes" for changes in (3, 6, 12)],
        name="horizon",
        note="The horizon is the number of changes at which a system solves half of the tasks, by a logistic model "
        "with an effect of each paper; its prior is flat between 0.25 and 32 on a logarithmic scale. The last columns "
        "are the shares that the model expects to be solved in a new paper. Several answers to one task count like "
        "answers to several tasks, so the interval is then too narrow.",
    )
    compared = sheet(
        "Systems by their horizons",
        ["systems", "ratio of horizons", "95% interval", "p"],
        [
            [
                f"{item.first} over {item.second}",
                number(item.ratio, ".2f"),
                _interval(item.low, item.high),
                number(item.p, ".3f"),
            ]
            for item in ratios
        ],
        numbers=["ratio of horizons", "95% interval", "p"],
        name="horizons",
        note="The effect of a paper is the same for both systems. p is twice the posterior probability of the less "
        "probable order, without correction for the number of pairs.",
    )
    sheets = [*([table] if horizons else []), *([compared] if ratios else [])]
    return Measured({"horizons": horizons, "horizon_ratios": ratios}, sheets)


def _interval(low: float, high: float) -> NumberedText:
    return NumberedText(f"{low:.2f} to {high:.2f}", {" low": low, " high": high})
