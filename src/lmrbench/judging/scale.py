"""The scale of judgements, and the kinds of error (LMR-BENCH, sections 4.2 and 5.3)."""

from __future__ import annotations

from typing import Literal

# Completely correct; the logic is correct, the implementation is not; the logic is incorrect.
Category = Literal["CC", "LC", "LI"]
CATEGORIES: tuple[Category, ...] = ("CC", "LC", "LI")
# The two ends of the scale.
OPPOSITES = frozenset({"CC", "LI"})
