"""The scale of judgements, and the kinds of error (LMR-BENCH, sections 4.2 and 5.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

# Completely correct; the logic is correct, the implementation is not; the logic is incorrect.
Category = Literal["CC", "LC", "LI"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
# The two ends of the scale.
OPPOSITES = frozenset({"CC", "LI"})

# What went wrong in an answer that is not completely correct.
ErrorClass = Literal["paper parsing", "problem context", "code robustness", "cross-file retrieval", "policy"]
# What each kind of error means, in our words.
ERROR_CLASSES: Mapping[ErrorClass, str] = {
    "paper parsing": "a formula, symbol or detail of the paper was misread or left out",
    "problem context": "what the task asks of this function, or what surrounds it, was misunderstood",
    "code robustness": "the code fails on inputs that it must handle: types, shapes, edge cases, numerical range",
    "cross-file retrieval": "something defined elsewhere in the repository was not found, or was used wrongly",
    "policy": "nothing was implemented, or not what was asked: a refusal, a stub, an answer to another question",
}
