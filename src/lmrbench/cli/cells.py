"""How numbers stand in the cells of a table. A number that is not there is said to be not defined."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lmrbench.analysis.resampling import Estimate

UNDEFINED = "not defined"


def number(value: float | None, form: str) -> str:
    """A number in a form of `format`."""
    return UNDEFINED if value is None else format(value, form)


def percent(value: float | None) -> str:
    """A share, in percent."""
    return number(value, ".1%")


def of_all(count: int, total: int) -> str:
    """A count, and the share that it is; the share of nothing is left out."""
    return f"{count} ({count / total:.0%})" if total else str(count)


def span(low: float | None, high: float | None) -> str:
    """An interval of shares, in percent."""
    return UNDEFINED if low is None or high is None else f"{low:.0%} to {high:.0%}"


def span_of(value: Estimate) -> str:
    """The interval of a mean of shares, in percent."""
    return span(value.low, value.high)


def points(value: Estimate | None) -> str:
    """The interval of a difference of shares, in percentage points."""
    if value is None or value.low is None or value.high is None:
        return UNDEFINED
    return f"{100 * value.low:+z.1f} to {100 * value.high:+z.1f}"


def p_value(value: float | None) -> str:
    """A p with three digits."""
    return "< 0.001" if value is not None and value < 0.001 else number(value, ".3f")
