"""Gated DeltaNet-2 in plain PyTorch, one step after the other.

This file takes the place of the published one, whose comments state the update. Its function computes the same.
"""

import torch


def naive_recurrent_gdn2(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    b: torch.Tensor,
    w: torch.Tensor,
    scale: float | None = None,
    initial_state: torch.Tensor | None = None,
    output_final_state: bool = False,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Run the recurrence of GDN-2.

    Args:
        q: Queries, (B, T, H, K).
        k: Keys, (B, T, H, K).
        v: Values, (B, T, H, V).
        g: Logarithms of the decay, (B, T, H, K).
        b: Erase gates, (B, T, H, K).
        w: Write gates, (B, T, H, V).
        scale: The factor of the queries.
        initial_state: The memory before the first step, (B, H, K, V).
        output_final_state: Whether the last memory is returned.

    Returns:
        The outputs, (B, T, H, V), and the last memory, (B, H, K, V), or None.
    """
    if scale is None:
        scale = q.shape[-1] ** -0.5
    q, k, v, g, b, w = (item.float() for item in (q, k, v, g, b, w))
    rows, steps, heads, width = k.shape
    memory = torch.zeros(rows, heads, width, v.shape[-1])
    if initial_state is not None:
        memory = initial_state.float()
    outputs = torch.zeros_like(v)
    for step in range(steps):
        memory = memory * g[:, step].exp()[..., None]
        key = k[:, step, :, :, None]
        erased = ((b[:, step, :, :, None] * key) * memory).sum(dim=-2, keepdim=True)
        written = (w[:, step] * v[:, step]).unsqueeze(-2)
        memory = memory + key * (written - erased)
        outputs[:, step] = torch.einsum("bhk,bhkv->bhv", scale * q[:, step], memory)
    return outputs, memory if output_final_state else None
