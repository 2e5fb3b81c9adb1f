"""What all branches share: grouped heads (grouped-query attention), and softmax under a mask."""

from torch import Tensor


def group_heads(q: Tensor, key_heads: int) -> Tensor:
    """Queries (B, T, HQ, K) as (B, T, H, G, K): query heads h·G to h·G + G - 1 share key head h."""
    return q.unflatten(2, (key_heads, -1))


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension of what the mask lets through; a row that it lets nothing through has zeros.

    mask: True where a key may be seen; broadcast against the scores. Gradients stay finite for rows without a key.
    """
    weights = scores.masked_fill(~mask, -1e30).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)
