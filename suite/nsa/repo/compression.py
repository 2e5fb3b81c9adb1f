"""The branch of compressed blocks (Section 3.3.1): one key and one value for each whole block.

The blocks are those of the selection and do not overlap.
"""

import torch
from torch import Tensor, nn

from ops import group_heads, masked_softmax


class BlockCompression(nn.Module):
    """A learnable map from a block of keys (or values) to one, with an encoding of the place in the block.

    It starts as the mean of the block.
    """

    def __init__(self, block_size: int, width: int) -> None:
        super().__init__()
        self.block_size = block_size
        self.weight = nn.Parameter(torch.full((block_size,), 1.0 / block_size))
        self.place = nn.Parameter(torch.zeros(block_size, width))

    def forward(self, states: Tensor) -> Tensor:
        """States (B, T, H, D) to (B, N, H, D) for N whole blocks; what is left over at the end has no block yet."""
        whole = states.shape[1] // self.block_size * self.block_size
        blocks = states[:, :whole].unflatten(1, (-1, self.block_size)) + self.place[:, None]
        return torch.einsum("bnlhd,l->bnhd", blocks, self.weight)


def compressed_attention(
    q: Tensor, k: Tensor, v: Tensor, block_size: int, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """Attention of queries (B, T, HQ, K) to compressed keys (B, N, H, K) and values (B, N, H, V).

    A query sees the blocks that lie in its past as a whole. Returns the output (B, T, HQ, V) and the probabilities
    (B, T, H, G, N) of all heads of each group.
    """
    scores = torch.einsum("bthgk,bnhk->bthgn", group_heads(q, k.shape[2]), k) * (scale or q.shape[-1] ** -0.5)
    ends = (torch.arange(k.shape[1]) + 1) * block_size - 1
    seen = ends <= torch.arange(q.shape[1])[:, None]
    probabilities = masked_softmax(scores, seen[:, None, None, :])
    return torch.einsum("bthgn,bnhv->bthgv", probabilities, v).flatten(2, 3), probabilities
