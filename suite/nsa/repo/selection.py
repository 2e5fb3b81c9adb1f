"""Which blocks matter to a query (Section 3.3.2): those to which its compressed attention goes."""

import torch
from torch import Tensor
from torch.nn import functional as F

NO_BLOCK = -1
_ALWAYS = 1e6


def rank_blocks(probabilities: Tensor, length: int, block_size: int, local: int = 1) -> Tensor:
    """The blocks of each query and key head, most important first: indices (B, T, H, S), S blocks in `length` keys.

    probabilities: (B, T, H, G, N) of the compressed attention; blocks and selection have the same size, so they are the
    importance of blocks as they stand (Equation 8). They are added up over a group, for which one choice is made
    (Equation 10). The first block and the `local` last ones that a query has begun come before all others;
    places that are left have `NO_BLOCK`.
    """
    blocks = -(-length // block_size)
    importance = F.pad(probabilities.sum(dim=3), (0, blocks - probabilities.shape[-1]))
    own = (torch.arange(length) // block_size)[:, None, None]
    block = torch.arange(blocks)
    begun = block <= own
    always = begun & ((block == 0) | (block > own - local))
    ranked = (importance + _ALWAYS * always).masked_fill(~begun, -1.0).sort(dim=-1, descending=True, stable=True)
    return ranked.indices.masked_fill(ranked.values < 0, NO_BLOCK)
