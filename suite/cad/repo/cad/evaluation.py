"""Exact match, the paper's metric for knowledge conflicts."""

from collections.abc import Sequence


def exact_match(predictions: Sequence[str], references: Sequence[str]) -> float:
    """The share of predictions that equal their reference word by word."""
    matches = [a.split() == b.split() for a, b in zip(predictions, references, strict=True)]
    return sum(matches) / len(matches)
