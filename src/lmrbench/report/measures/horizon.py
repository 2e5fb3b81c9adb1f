"""The reproduction horizon of each system, estimated from its answers to forensic tasks.

A forensic task asks a solver to find the changes that were made to a program, given the results that the changed
program logged. The horizon is the number of changes at which a system solves half of such tasks.
"""

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
    """Return the outcomes of the answers to forensic tasks, by system. Grades of other tiers are ignored."""
    forensic = [(draw.count, item) for item in grades if (draw := draw_id(item.task.partition("/")[2]))]
    return {
        system: [Outcome(paper_of(item.task), changes, float(item.correct)) for changes, item in items]
        for system, items in grouped(forensic, lambda pair: pair[1].system).items()
    }


@measure()
def measured_horizons(findings: Findings) -> Measured:
    """Estimate the horizons of all systems, and compare each pair of systems."""
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
        note="The horizon is the number of changes at which a system solves half of the tasks. It is estimated by a "
        "logistic model with an effect for each paper; the prior of the horizon is flat between 0.25 and 32 on a "
        "logarithmic scale. The last columns give the share of tasks of a new paper that the system is expected to "
        "solve, by the number of changes. Several answers to one task count as answers to different tasks, which makes "
        "the interval too narrow.",
    )
    compared = sheet(
        "Comparison of horizons",
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
        note="The model assumes that a paper has the same effect on both systems. p is twice the posterior probability "
        "of the less probable order of the two horizons, without correction for the number of pairs.",
    )
    sheets = [*([table] if horizons else []), *([compared] if ratios else [])]
    return Measured({"horizons": horizons, "horizon_ratios": ratios}, sheets)


def _interval(low: float, high: float) -> NumberedText:
    return NumberedText(f"{low:.2f} to {high:.2f}", {" low": low, " high": high})
