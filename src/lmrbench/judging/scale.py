"""The scale of judgements, and the kinds of error (LMR-BENCH, sections 4.2 and 5.3)."""

from __future__ import annotations

from typing import Literal, get_args

# Completely correct; the logic is correct, the implementation is not; the logic is incorrect.
Category = Literal["CC", "LC", "LI"]
CATEGORIES: tuple[Category, ...] = ("CC", "LC", "LI")
# The two ends of the scale.
OPPOSITES = frozenset({"CC", "LI"})

# Why an answer is not completely correct: the paper was misread; the problem was; the code breaks on some inputs; what
# other files hold was not found; the model refused, or a policy of its provider stopped it.
ErrorClass = Literal["paper parsing", "problem context", "code robustness", "cross-file retrieval", "policy"]
ERROR_CLASSES: tuple[ErrorClass, ...] = get_args(ErrorClass)
