"""Sums logarithms from the start of the sequence in float32, which lacks digits after much was forgotten."""

import torch


def _segments(g):
    """Of sums: those over s + 1 to t for each t and s up to t, -inf elsewhere."""
    size = g.shape[-1]
    total = g
    later = torch.ones(size, size, dtype=torch.bool).triu(1)
    return (total.unsqueeze(-1) - total.unsqueeze(-2)).masked_fill(later, float("-inf"))


def naive_chunk_simple_gla(q, k, v, g, initial_state=None, output_final_state=False, chunk_size=64, scale=None):
    B, T, H, K = q.shape
    V = v.shape[-1]
    if scale is None:
        scale = K**-0.5
    q, k, v, g = (x.float().transpose(1, 2) for x in (q, k, v, g))
    q = q * scale
    state = torch.zeros(B, H, K, V, dtype=torch.float32) if initial_state is None else initial_state.float()
    sums = g.cumsum(-1)
    outputs = []
    for start in range(0, T, chunk_size):
        part = slice(start, min(start + chunk_size, T))
        qs, ks, vs = q[:, :, part], k[:, :, part], v[:, :, part]
        total = sums[:, :, part]
        if start:
            total = total - sums[:, :, start - 1, None]
        weights = (qs @ ks.mT) * _segments(total).exp()
        outputs.append(weights @ vs + (qs * total.exp().unsqueeze(-1)) @ state)
        after = total[..., -1:] - total
        state = state * total[..., -1, None, None].exp() + (ks * after.exp().unsqueeze(-1)).mT @ vs
    return torch.cat(outputs, dim=2).transpose(1, 2), state if output_final_state else None
