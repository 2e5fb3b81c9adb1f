"""Parallax attention in plain PyTorch.

This file takes the place of the published one, whose docstring states the algorithm. It computes the same.
"""

import torch


def naive_parallax(
    q: torch.Tensor,
    r: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    scale: float | None = None,
    window_size: int | None = None,
    causal: bool = True,
) -> torch.Tensor:
    """Attend by Parallax, without kernels.

    Args:
        q: Queries, (B, T, HQ, D).
        r: Probes, (B, T, HQ, D).
        k: Keys, (B, T, H, D).
        v: Values, (B, T, H, D).
        scale: The factor of the softmax's logits.
        window_size: How many positions a query sees if `causal`.
        causal: Whether later positions are hidden.

    Returns:
        The outputs, (B, T, HQ, D).
    """
    steps, query_heads, width = q.shape[1:]
    key_heads = k.shape[2]
    if key_heads == 0 or query_heads % key_heads:
        raise ValueError(f"{query_heads} query heads cannot share {key_heads} key heads evenly")
    if scale is None:
        scale = width**-0.5
    kind = q.dtype
    shared = query_heads // key_heads
    q, r, k, v = (item.float().transpose(1, 2) for item in (q, r, k, v))
    k, v = (item.repeat_interleave(shared, dim=1) for item in (k, v))
    logits = scale * (q @ k.transpose(-1, -2))
    if causal:
        age = torch.arange(steps)[:, None] - torch.arange(steps)
        hidden = age < 0
        if window_size is not None:
            hidden = hidden | (age >= window_size)
        logits = logits.masked_fill(hidden, -torch.inf)
    weights = logits.softmax(dim=-1)
    mean = weights @ v
    moments = weights * (r @ k.transpose(-1, -2))
    covariance = moments @ v - moments.sum(dim=-1, keepdim=True) * mean
    return (mean - covariance).transpose(1, 2).contiguous().to(kind)
