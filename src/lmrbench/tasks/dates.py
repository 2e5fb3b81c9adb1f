"""Dates that are known to the day, or to the month only."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

_FORM = re.compile(r"\d{4}-\d\d(-\d\d)?")


def first_day(text: str) -> date:
    """Parse a date. A month without a day becomes its first day.

    Args:
        text: YYYY-MM-DD, or YYYY-MM for a date that is known to the month only.

    Raises:
        ValueError: The text is not a date in one of these forms.
    """
    try:
        if _FORM.fullmatch(text):
            return date.fromisoformat(text if len(text) == len("YYYY-MM-DD") else f"{text}-01")
    except ValueError:
        pass
    raise ValueError(f"{text!r} is not a date; expected YYYY-MM-DD, or YYYY-MM if the day is not known")


def _checked(text: str) -> str:
    first_day(text)
    return text


# A string that `first_day` accepts. TOML has no type for YYYY-MM, and parses YYYY-MM-DD as a date, which is converted
# back to a string.
Day = Annotated[
    str,
    BeforeValidator(lambda value: value.isoformat() if isinstance(value, date) else value),
    AfterValidator(_checked),
]
