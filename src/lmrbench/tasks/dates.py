"""Dates that are known to the day, or to the month only."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

_FORM = re.compile(r"\d{4}-\d\d(-\d\d)?")


def first_day(text: str) -> date:
    """Return the first day of a date.

    Args:
        text: YYYY-MM-DD, or YYYY-MM for a date that is known to the month only.

    Raises:
        ValueError: The text is no such date.
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


# A text that `first_day` reads. TOML has dates of its own, but not without a day.
Day = Annotated[
    str,
    BeforeValidator(lambda value: value.isoformat() if isinstance(value, date) else value),
    AfterValidator(_checked),
]
