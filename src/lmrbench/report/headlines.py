"""The headlines of a report: a table with one row per system, and sentences on the differences between systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from lmrbench.report.measures.effort import costs
from lmrbench.report.measures.rates import of_listed
from lmrbench.report.render.cells import NumberedText, dollars, p_value, percent, points, span
from lmrbench.report.render.tables import Sheet, sheet
from lmrbench.report.render.text import markdown
from lmrbench.text import counted, printable

if TYPE_CHECKING:
    from lmrbench.report.build import Report, ReportPart
    from lmrbench.report.horizon import Horizon
    from lmrbench.report.measures.dates import Split
    from lmrbench.report.measures.rates import Rate

# The largest number of pairs of neighbours in the ranking to compare, and the significance level.
_MOST_PAIRS, _LEVEL = 3, 0.05


def headline_sheets(report: Report) -> list[Sheet]:
    """Return the headline table of each part of the report (a group of tasks), with one row per system."""
    return [_sheet(part, rates) for part in report.parts if (rates := part.numbers["rates"].get("all"))]


def grades_line(report: Report) -> str:
    """Return one line with the number of grades, the run folders and the conditions of the grading."""
    folders = " ".join(map(str, report.findings.folders))
    conditions = "; ".join(report.findings.conditions)
    return f"{counted(len(report.findings.grades), 'grade')} in {folders}{conditions and f' ({conditions})'}"


def in_markdown(report: Report, full: bool = False) -> str:
    """Return, in Markdown, the headline tables, the conditions of the grading, and the counts of missing submissions.

    Args:
        report: The report.
        full: Whether to include all other tables.
    """
    sheets = [*headline_sheets(report), *(report.sheets if full else ())]
    lines = (*report.findings.conditions, *report.not_submitted)
    return "\n".join([*map(markdown, sheets), *(f"{printable(line)}\n" for line in lines)])


def _sheet(part: ReportPart, rates: Mapping[str, Rate]) -> Sheet:
    horizons: dict[str, Horizon] = {item.system: item for item in part.numbers["horizons"]}
    spent = costs(part.findings.usages)
    listed = len(part.findings.expected)
    cells: dict[str, list[object]] = {
        "system": list(rates),
        "tasks": [of_listed(item.tasks, listed) for item in rates.values()],
        "correct": [percent(item.correct, "-") for item in rates.values()],
        "95% interval": [_interval(item) for item in rates.values()],
        "robust": [percent(item.robust, "-") for item in rates.values()],
        "horizon": [_horizon(horizons.get(system)) for system in rates] if horizons else [],
        "unanswered": [_unanswered(item) for item in rates.values()],
        "dollars": [dollars(spent[system].dollars, "") if system in spent else "" for system in rates],
    }
    kept = {name: values for name, values in cells.items() if any(values)}
    return sheet(
        f"Results{part.where}",
        kept,
        list(zip(*kept.values(), strict=True)),
        numbers=[name for name in kept if name != "system"],
        spare=[name for name in ("unanswered", "robust", "dollars") if name in kept],
        name="results",
        note="Correct is the mean over tasks of the share of answers that match in all ordinary cases; robust is the "
        "same for answers that match in the edge cases too. The interval is a bootstrap over whole papers; one marked "
        "(tasks) is Wilson's, which treats tasks as independent. Unanswered samples do not count; their number is "
        "followed by the rate that would result if all of them were wrong.",
    )


def _interval(found: Rate) -> NumberedText:
    """Format the interval over papers or, if that is not defined, the interval over tasks."""
    if found.paper_low is not None:
        return span(found.paper_low, found.paper_high)
    over_tasks = span(found.low, found.high)
    return NumberedText("-" if found.low is None else f"{over_tasks} (tasks)", over_tasks.numbers)


def _unanswered(found: Rate) -> str:
    if not found.unanswered:
        return ""
    numbers = {"": found.unanswered, " as wrong": found.correct_with_unanswered}
    return NumberedText(f"{found.unanswered} ({found.correct_with_unanswered:.1%} as wrong)", numbers)


def _horizon(found: Horizon | None) -> NumberedText:
    if found is None:
        return NumberedText("-", {"": None})
    return NumberedText(
        f"{found.k50:.1f} ({found.low:.1f} to {found.high:.1f})",
        {"": found.k50, " low": found.low, " high": found.high},
    )


def conclusions(report: Report) -> list[str]:
    """Return sentences that compare neighbours in the ranking and, given a cutoff, the rates before and after it."""
    return [f"{part.where[2:]}: {line}" if part.where else line for part in report.parts for line in _compared(part)]


def _compared(part: ReportPart) -> Iterator[str]:
    rates: Mapping[str, Rate] = part.numbers["rates"].get("all", {})
    ranked = sorted((system for system in rates if rates[system].answers), key=lambda name: -(rates[name].correct or 0))
    pairs = {frozenset((item["first"], item["second"])): item for item in part.numbers["comparisons"]}
    ratios = {frozenset((item.first, item.second)): item for item in part.numbers["horizon_ratios"]}
    for first, second in list(pairwise(ranked))[:_MOST_PAIRS]:
        pair = frozenset((first, second))
        if ratio := ratios.get(pair):
            interval = f"95% interval {ratio.low:.2f} to {ratio.high:.2f}"
            yield f"The horizon of {ratio.first} is {ratio.ratio:.2f} times that of {ratio.second} ({interval})."
        else:
            yield _sentence(first, second, pairs[pair])
    yield from (_split(item) for item in part.numbers["splits"] if (item.group, item.answers) == ("all", "correct"))
    smallest = part.numbers["detectable_difference"]
    if len(ranked) == 1 and smallest is not None:
        tasks = counted(rates[ranked[0]].tasks, "task")
        least = f"{100 * smallest:.0f} percentage points"
        yield f"With {tasks}, only a difference of {least} or more between two systems is detected (80% power)."


def _split(item: Split) -> str:
    """Return a sentence on the rates of a system before the cutoff and from it on."""
    sides = {"before": item.before, "on or after": item.since}
    told = [
        f"{100 * side.rate.mean:.1f}% of {counted(side.tasks, 'task')} dated {name} the cutoff"
        for name, side in sides.items()
        if side is not None
    ]
    found = item.difference
    known = found is not None and found.low is not None
    interval = f" (95% interval of the difference: {points(found)} points)" if known else ""
    return f"{item.system} solves {' and '.join(told)}{interval}."


def _sentence(first: str, second: str, pair: Mapping[str, Any]) -> str:
    """Return a sentence on whether two systems differ; `pair` is their entry in `comparisons`."""
    both, tasks = f"{first} and {second}", counted(pair["tasks"], "common task")
    if pair["difference"] is None:
        return f"{both} have no task in common."
    if not pair["wins"] + pair["losses"]:
        return f"{both} are equal on {tasks}."
    differ = f"{both} differ by {100 * abs(pair['difference']['mean']):.1f} points on {tasks}"
    if pair["one_differs"]:
        return f"{differ}, but only on one paper, which allows no conclusion."
    if pair["p_holm"] is None:
        return f"{differ}; a test needs more than one paper."
    p = f"p {p_value(pair['p_holm'])}" if pair["p_holm"] < 0.001 else f"p = {p_value(pair['p_holm'])}"
    if pair["p_holm"] < _LEVEL:
        return f"{differ}, more than chance would explain ({p})."
    smallest = pair["detectable_difference"]
    least = "" if smallest is None else f"; only a difference of {100 * smallest:.0f} points or more would be detected"
    return f"{differ}, which may be chance ({p}){least}."
