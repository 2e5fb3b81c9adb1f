"""The measures of a report, one module each.

Each module named in `MODULES` registers a function with the decorator `measure`. The function takes findings (the
results of runs), and returns the numbers of the measure and the tables that show them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from lmrbench.report.findings import Findings
    from lmrbench.report.render.tables import Sheet

# The modules, in the order in which a report shows their tables. To add a measure, write a module and add it here.
MODULES = (
    "rates",
    "dates",
    "forensic",
    "horizon",
    "failures",
    "endings",
    "attempts",
    "effort",
    "progress",
    "speed",
    "comparison",
    "ratings",
    "published",
    "paired",
)
# The results from which a measure is computed: those of one tier of one suite (in the method tier, of one setting if
# there are several), of all tiers of one suite, or of all suites.
Scope = Literal["tier", "suite", "report"]


@dataclass(frozen=True)
class Measured:
    """The result of a measure.

    Attributes:
        numbers: Records, or lists and mappings of records, by their key in the JSON report.
        sheets: Tables of these numbers; empty if the findings lack the data for them.
    """

    numbers: Mapping[str, Any]
    sheets: Sequence[Sheet] = ()


Measure = Callable[["Findings"], Measured]
_registered: dict[str, list[tuple[Scope, Measure]]] = {}


def measure(scope: Scope = "tier") -> Callable[[Measure], Measure]:
    """Register a function as the measure of its module.

    Args:
        scope: The results from which the measure is computed.

    Returns:
        The decorator, which returns the function unchanged.
    """

    def register(function: Measure) -> Measure:
        _registered.setdefault(function.__module__, []).append((scope, function))
        return function

    return register


def measured(findings: Findings, scope: Scope) -> Measured:
    """Compute all measures of one scope.

    Args:
        findings: The results from which the measures are computed.
        scope: The scope of the measures to compute.

    Returns:
        The numbers and tables of these measures, in the order of `MODULES`.

    Raises:
        TypeError: A module in `MODULES` registers no measure.
    """
    numbers: dict[str, Any] = {}
    sheets: list[Sheet] = []
    for name in MODULES:
        module = import_module(f"{__name__}.{name}")
        if module.__name__ not in _registered:
            raise TypeError(f"{module.__name__} registers no measure; decorate a function with @measure()")
        for of, function in _registered[module.__name__]:
            if of == scope:
                found = function(findings)
                numbers |= found.numbers
                sheets += found.sheets
    return Measured(numbers, sheets)
