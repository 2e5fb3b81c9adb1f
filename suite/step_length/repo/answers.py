"""Answer cleaning: of a completion, only the part counts that first has the form of an answer (Section 4.1)."""

import re

from config import DIRECT_ANSWER_TRIGGER

_FORMS = {"arithmetic": r"-?\d+", "letter": r"\b[a-z]+\b", "coin": r"\b(?:yes|no)\b"}


def clean_answer(task: str, completion: str) -> str | None:
    """The answer that a completion gives, looked for after the last trigger; None where there is none."""
    _, _, tail = completion.rpartition(DIRECT_ANSWER_TRIGGER)
    found = re.search(_FORMS[task], tail)
    return found.group() if found else None
