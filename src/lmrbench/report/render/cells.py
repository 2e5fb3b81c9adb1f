"""Format numbers for the cells of a table. A missing number is shown as "not defined" or, for dollars, "not known"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lmrbench.text import printable

if TYPE_CHECKING:
    from rich.text import Text

    from lmrbench.report.measures.rates import Rate
    from lmrbench.report.statistics import Estimate

UNDEFINED, UNKNOWN = "not defined", "not known"


class NumberedText(str):
    """The text of a cell, with the numbers that it shows.

    Attributes:
        numbers: The numbers, by the names of their CSV columns. A name that is empty or starts with a space is appended
            to the name of the cell's column in the table.
    """

    numbers: Mapping[str, float | None]

    def __new__(cls, text: str, numbers: Mapping[str, float | None]) -> NumberedText:
        """Create a text with its numbers."""
        made = super().__new__(cls, text)
        made.numbers = numbers
        return made


def cell(text: str, style: str = "") -> Text:
    """Return a rich `Text` that ignores markup, escapes control characters and keeps line breaks."""
    from rich.text import Text

    return Text(printable(text, lines=True), style=style)


def number(value: float | None, form: str, absent: str = UNDEFINED) -> NumberedText:
    """Format a number. A negative number that is rounded to 0 has no minus sign.

    Args:
        value: The number, or None if it is missing.
        form: The format specification, such as ".1%".
        absent: The text to show if the number is missing.
    """
    sign, rest = ("+", form[1:]) if form.startswith("+") else ("", form)
    return NumberedText(absent if value is None else format(value, f"{sign}z{rest}"), {"": value})


def percent(value: float | None, absent: str = UNDEFINED) -> NumberedText:
    """Format a share in percent."""
    return number(value, ".1%", absent)


def dollars(value: float | None, absent: str = UNKNOWN) -> NumberedText:
    """Format an amount of dollars."""
    return number(value, ".4f", absent)


def tokens(value: float | None, absent: str = UNDEFINED) -> NumberedText:
    """Format a number of tokens."""
    return number(value, ",.0f", absent)


def minutes(value: float | None, absent: str = UNDEFINED) -> NumberedText:
    """Format a duration in minutes."""
    return number(value, ".2f", absent)


def count_and_share(count: int, total: int) -> NumberedText:
    """Format a count and its share of a total, or only the count if the total is 0."""
    share = count / total if total else None
    return NumberedText(str(count) if share is None else f"{count} ({share:.0%})", {"": count, " share": share})


def passes(count: int, answers: int) -> NumberedText:
    """Format the number of passing answers and the number of all answers, such as 3/5."""
    return NumberedText(f"{count}/{answers}", {"passes": count, "answers": answers})


def counted_answers(rate: Rate) -> NumberedText:
    """Format a rate's number of answers, preceded by the number of passes if passes/answers equals the rate."""
    found = passes(rate.passes, rate.answers)
    return found if rate.is_pooled else NumberedText(str(rate.answers), found.numbers)


def span(low: float | None, high: float | None) -> NumberedText:
    """Format an interval of shares in percent."""
    text = UNDEFINED if low is None or high is None else f"{low:.0%} to {high:.0%}"
    return NumberedText(text, {" low": low, " high": high})


def span_of(value: Estimate) -> NumberedText:
    """Format the interval of an estimated share in percent."""
    return span(value.low, value.high)


def points(value: Estimate | None) -> NumberedText:
    """Format the interval of an estimated difference of shares in percentage points."""
    if value is None or value.low is None or value.high is None:
        return NumberedText(UNDEFINED, {" low": None, " high": None})
    low, high = 100 * value.low, 100 * value.high
    return NumberedText(f"{low:+z.1f} to {high:+z.1f}", {" low": low, " high": high})


def p_value(value: float | None) -> NumberedText:
    """Format a p value with three decimals."""
    text = "< 0.001" if value is not None and value < 0.001 else number(value, ".3f")
    return NumberedText(text, {"": value})
