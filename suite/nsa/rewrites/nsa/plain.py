"""One mask for each branch, and a softmax of what it leaves."""

from itertools import pairwise

import torch


def nsa(
    q,
    k,
    v,
    g_slc,
    g_swa,
    block_indices,
    block_counts=None,
    block_size=64,
    window_size=0,
    scale=None,
    cu_seqlens=None,
    head_first=False,
):
    if head_first:
        q, k, v, g_slc, block_indices = (x.transpose(1, 2) for x in (q, k, v, g_slc, block_indices))
        g_swa = None if g_swa is None else g_swa.transpose(1, 2)
        block_counts = block_counts.transpose(1, 2) if torch.is_tensor(block_counts) else block_counts
    length, group = q.shape[1], q.shape[2] // k.shape[2]
    place, sequence, start = torch.arange(length), torch.zeros(length), torch.zeros(length, dtype=torch.long)
    if cu_seqlens is not None:
        for number, (first, end) in enumerate(pairwise(cu_seqlens)):
            sequence[first:end], start[first:end] = number, first
    visible = (place[:, None] >= place) & (sequence[:, None] == sequence)
    counts = block_indices.shape[-1] if block_counts is None else block_counts
    if torch.is_tensor(counts):
        counts = counts[..., None]
    indices = block_indices.masked_fill(torch.arange(block_indices.shape[-1]) >= counts, -1)
    selected = (indices[..., None] == (place - start) // block_size).any(-2).transpose(1, 2) & visible
    keys, values = (x.repeat_interleave(group, dim=2).transpose(1, 2) for x in (k, v))
    scores = q.transpose(1, 2) @ keys.transpose(2, 3) * (q.shape[-1] ** -0.5 if scale is None else scale)

    def branch(mask, gate):
        weights = torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1) * mask
        return (weights @ values).transpose(1, 2) * gate[..., None]

    result = branch(selected.repeat_interleave(group, dim=1), g_slc)
    if window_size:
        result = result + branch(visible & (place[:, None] - place < window_size), g_swa)
    return result.transpose(1, 2) if head_first else result
