"""The layer (Section 3.2): projections, a gate for each branch, and the three branches added up."""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from compression import BlockCompression, compressed_attention
from NSA import nsa
from selection import NO_BLOCK, rank_blocks


class NativeSparseAttention(nn.Module):
    """Grouped-query attention with a compressed branch, a selected branch and a sliding window.

    selected: how many blocks a query sees in detail. Selection and window share keys and values; the compressed branch
    has its own maps from them.
    """

    def __init__(
        self, width: int, heads: int, key_heads: int, head_width: int, block_size: int, selected: int, window: int
    ) -> None:
        super().__init__()
        self.heads, self.key_heads, self.head_width = heads, key_heads, head_width
        self.block_size, self.selected, self.window = block_size, selected, window
        self.query = nn.Linear(width, heads * head_width, bias=False)
        self.key = nn.Linear(width, key_heads * head_width, bias=False)
        self.value = nn.Linear(width, key_heads * head_width, bias=False)
        self.gate = nn.Linear(width, heads * 3)
        self.output = nn.Linear(heads * head_width, width, bias=False)
        self.compress_keys = BlockCompression(block_size, head_width)
        self.compress_values = BlockCompression(block_size, head_width)

    def forward(self, states: Tensor, cu_seqlens: Tensor | None = None) -> Tensor:
        """States (B, T, width) to states; with `cu_seqlens` (N + 1,), those of N sequences packed in one row."""
        return self.output(self.attend(states, cu_seqlens).flatten(2))

    def attend(self, states: Tensor, cu_seqlens: Tensor | None = None) -> Tensor:
        """What each head reads, (B, T, heads, head_width), before it is mixed."""
        q, k, v = self.project(states)
        g_cmp, g_slc, g_swa = self.gates(states)
        compressed, blocks = self.compress(q, k, v, cu_seqlens)
        detailed = nsa(
            q,
            k,
            v,
            g_slc,
            g_swa,
            block_indices=blocks,
            block_counts=self.selected,
            block_size=self.block_size,
            window_size=self.window,
            cu_seqlens=cu_seqlens,
        )
        return g_cmp[..., None] * compressed + detailed

    def project(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (B, T, heads, head_width), and keys and values (B, T, key_heads, head_width)."""
        q = self.query(states).unflatten(2, (self.heads, -1))
        k = self.key(states).unflatten(2, (self.key_heads, -1))
        v = self.value(states).unflatten(2, (self.key_heads, -1))
        return q, k, v

    def gates(self, states: Tensor) -> tuple[Tensor, ...]:
        """The gates of compressed blocks, of selected blocks and of the window, each (B, T, heads)."""
        return self.gate(states).sigmoid().unflatten(2, (self.heads, 3)).unbind(-1)

    def compress(self, q: Tensor, k: Tensor, v: Tensor, cu_seqlens: Tensor | None) -> tuple[Tensor, Tensor]:
        """The compressed branch of each sequence, and the ranked blocks (B, T, key heads, S)."""
        length = q.shape[1]
        bounds = [0, length] if cu_seqlens is None else cu_seqlens.tolist()
        outputs, blocks = [], []
        for start, end in pairwise(bounds):
            keys, values = self.compress_keys(k[:, start:end]), self.compress_values(v[:, start:end])
            output, probabilities = compressed_attention(q[:, start:end], keys, values, self.block_size)
            ranked = rank_blocks(probabilities.detach(), end - start, self.block_size)
            outputs.append(output)
            blocks.append(F.pad(ranked, (0, -(-length // self.block_size) - ranked.shape[-1]), value=NO_BLOCK))
        return torch.cat(outputs, dim=1), torch.cat(blocks, dim=1)
