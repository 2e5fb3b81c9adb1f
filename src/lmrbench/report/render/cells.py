"""How numbers stand in the cells of a table. A number that is not there is said to be not defined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lmrbench.text import printable

if TYPE_CHECKING:
    from rich.text import Text

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lmrbench.report.measures.rates import Rate
    from lmrbench.report.statistics import Estimate

UNDEFINED = "not defined"


class Figure(str):
    """The text of a cell, with the numbers that it shows.

    numbers: by the name of the column that holds them in a CSV file; a name that is empty, or begins with a space, is
    put behind that of the table's column.
    """

    numbers: Mapping[str, float | None]

    def __new__(cls, text: str, numbers: Mapping[str, float | None]) -> Figure:
        """The text, which knows its numbers."""
        made = super().__new__(cls, text)
        made.numbers = numbers
        return made


def cell(text: str, style: str = "") -> Text:
    """A text for a table or a console of rich: without markup, control characters replaced, line breaks kept."""
    from rich.text import Text

    return Text(printable(text, lines=True), style=style)


def number(value: float | None, form: str, absent: str = UNDEFINED) -> Figure:
    """A number in a form of `format`. What is rounded to 0 has no sign."""
    sign, rest = ("+", form[1:]) if form.startswith("+") else ("", form)
    return Figure(absent if value is None else format(value, f"{sign}z{rest}"), {"": value})


def percent(value: float | None) -> Figure:
    """A share, in percent."""
    return number(value, ".1%")


def of_all(count: int, total: int) -> Figure:
    """A count, and the share that it is; the share of nothing is left out."""
    share = count / total if total else None
    return Figure(str(count) if share is None else f"{count} ({share:.0%})", {"": count, " share": share})


def passes(count: int, answers: int) -> Figure:
    """How many of some answers pass."""
    return Figure(f"{count}/{answers}", {"passes": count, "answers": answers})


def counted_answers(rate: Rate) -> Figure:
    """The answers of a rate; also how many pass, unless their share is another number than the mean over tasks."""
    found = passes(rate.passes, rate.answers)
    return found if rate.is_pooled else Figure(str(rate.answers), found.numbers)


def span(low: float | None, high: float | None) -> Figure:
    """An interval of shares, in percent."""
    text = UNDEFINED if low is None or high is None else f"{low:.0%} to {high:.0%}"
    return Figure(text, {" low": low, " high": high})


def span_of(value: Estimate) -> Figure:
    """The interval of a mean of shares, in percent."""
    return span(value.low, value.high)


def points(value: Estimate | None) -> Figure:
    """The interval of a difference of shares, in percentage points."""
    low, high = (value.low, value.high) if value is not None else (None, None)
    if low is None or high is None:
        return Figure(UNDEFINED, {" low": None, " high": None})
    return Figure(f"{100 * low:+z.1f} to {100 * high:+z.1f}", {" low": 100 * low, " high": 100 * high})


def p_value(value: float | None) -> Figure:
    """A p with three digits."""
    text = "< 0.001" if value is not None and value < 0.001 else number(value, ".3f")
    return Figure(text, {"": value})
