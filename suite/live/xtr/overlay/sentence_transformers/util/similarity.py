"""Stand-ins for helpers that the package's functions for scoring share."""

from torch import Tensor

_EMPTY_DOCUMENT_SCORE = -1e9


def _zero_row_mask(padded: Tensor) -> Tensor:
    """1 where an embedding of (..., tokens, dim) has a value other than 0, 0 where it is padding; in their dtype."""
    return (padded != 0).any(dim=-1).to(padded.dtype)


def _chunk_ranges(item_widths: list[int], per_item_token: int, element_budget: int) -> list[tuple[int, int]]:
    """Split items into runs (start, end), each as long as possible.

    The number of items of a run, times the largest of their widths, times `per_item_token`, does not exceed the
    budget. A run has at least one item.
    """
    bounds, widest = [0], 0
    for place, width in enumerate(item_widths):
        widest = max(widest, width)
        if place > bounds[-1] and (place + 1 - bounds[-1]) * widest * per_item_token > element_budget:
            bounds.append(place)
            widest = width
    return list(zip(bounds, [*bounds[1:], len(item_widths)], strict=False))


def _fill_empty_document_scores(scores: Tensor, empty: Tensor) -> Tensor:
    """Give documents without tokens, `empty` (documents), a score (queries, documents) below that of any other."""
    return scores.masked_fill(empty, _EMPTY_DOCUMENT_SCORE)
