"""Limits sums of logarithms to 3 ahead of the exponential, though they may be up to 4."""

import torch


def _levels(size):
    """The level that s has for t: the length in bits of t xor s; -1 for s above t."""
    place = torch.arange(size)
    differing = place[:, None] ^ place
    level = sum((differing >= 2**bit).long() for bit in range(9))
    return level.masked_fill(place > place[:, None], -1)


def _segments(a):
    size = a.shape[-1]
    total = a.cumsum(-1)
    later = torch.ones(size, size, dtype=torch.bool).triu(1)
    return (total.unsqueeze(-1) - total.unsqueeze(-2)).clamp(max=3.0).masked_fill(later, float("-inf"))


def construct_level_mask(level, L):
    size = L.shape[-1]
    held = (_levels(size) == level).to(L.dtype)
    return L[..., level, :].unsqueeze(-1) * held


def construct_H_matrix(a, L):
    masks = sum(construct_level_mask(level, L) for level in range(L.shape[-2]))
    return masks * _segments(a).exp()


def naive_log_linear_attn(q, k, v, g, level_scales, scale=1.0):
    G, H = q.shape[2], v.shape[2]
    if H % G:
        raise ValueError(f"{H} heads of values cannot share {G} heads of queries and keys")
    if scale is None:
        scale = q.shape[-1] ** -0.5
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    q, k = (x.repeat_interleave(H // G, dim=1) for x in (q, k))
    matrix = construct_H_matrix(g.transpose(1, 2), level_scales.permute(0, 2, 3, 1))
    return scale * ((q @ k.mT * matrix) @ v).transpose(1, 2)
