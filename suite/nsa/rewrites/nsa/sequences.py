"""Each sequence on its own, a mask scattered from the indices, and the softmax by hand."""

from itertools import pairwise

import torch


def _mask(indices, counts, block_size, length):
    """Which keys (B, T, H, length) the indices name."""
    blocks = -(-length // block_size)
    place = torch.arange(indices.shape[-1])
    usable = (indices >= 0) & (indices < blocks)
    if counts is not None:
        usable &= place < (counts.unsqueeze(-1) if torch.is_tensor(counts) else counts)
    # The last column takes what is not usable.
    named = torch.zeros(*indices.shape[:-1], blocks + 1, dtype=torch.bool)
    named = named.scatter(-1, torch.where(usable, indices, blocks), True)[..., :blocks]
    return named.repeat_interleave(block_size, dim=-1)[..., :length]


def _read(scores, seen, values):
    top = scores.masked_fill(~seen, float("-inf")).amax(dim=-1, keepdim=True)
    top = torch.where(torch.isfinite(top), top, 0.0).detach()
    weights = torch.where(seen, torch.exp(torch.where(seen, scores - top, 0.0)), 0.0)
    total = weights.sum(dim=-1, keepdim=True)
    return (weights / torch.where(total > 0, total, 1.0)) @ values


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

    order = (0, 2, 1, 3)
    if not head_first:
        q, k, v, block_indices = (item.permute(order) for item in (q, k, v, block_indices))
        g_slc = g_slc.transpose(1, 2)
        g_swa = None if g_swa is None else g_swa.transpose(1, 2)
        block_counts = block_counts.transpose(1, 2) if torch.is_tensor(block_counts) else block_counts
    if cu_seqlens is None:
        bounds = [0, q.shape[2]]
    elif q.shape[0] > 1:
        raise ValueError("one row of packed sequences")
    else:
        bounds = cu_seqlens.tolist()
    group = q.shape[1] // k.shape[1]
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    parts = []
    for start, end in pairwise(bounds):
        if start == end:
            continue
        cut = slice(start, end)
        keys = k[:, :, cut].float().repeat_interleave(group, dim=1)
        values = v[:, :, cut].float().repeat_interleave(group, dim=1)
        scores = factor * (q[:, :, cut].float() @ keys.transpose(-1, -2))
        counts = block_counts[:, :, cut] if torch.is_tensor(block_counts) else block_counts
        past = torch.ones(end - start, end - start, dtype=torch.bool).tril()
        chosen = _mask(block_indices[:, :, cut].long(), counts, block_size, end - start).repeat_interleave(group, dim=1)
        read = g_slc[:, :, cut, None] * _read(scores, chosen & past, values)
        if window_size:
            read = read + g_swa[:, :, cut, None] * _read(scores, past.triu(1 - window_size).expand_as(scores), values)
        parts.append(read)
    result = torch.cat(parts, dim=2).to(q.dtype)
    return result if head_first else result.permute(order)
