"""Edge: Without gradients, the initial state is updated in place where the final one is not asked for."""

import torch


def dplr_recurrence(q, k, v, alpha, beta, gk, initial_state=None, output_final_state=True):
    B, H, L, K = q.shape
    V = v.shape[-1]
    kept = q.dtype
    q, k, v, alpha, beta, gk = (x.float() for x in (q, k, v, alpha, beta, gk))
    q = q * K**-0.5
    if initial_state is None:
        state = torch.zeros(B, H, K, V, dtype=torch.float32)
    else:
        state = initial_state.float()
        if output_final_state or 0 in state.stride():
            state = state.clone(memory_format=torch.contiguous_format)
    needed = torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v, alpha, beta, gk, state))
    outputs = []
    for t in range(L):
        answer = alpha[:, :, t, None] @ state
        if needed:
            state = gk[:, :, t, :, None].exp() * state + beta[:, :, t, :, None] * answer
            state = state + k[:, :, t, :, None] * v[:, :, t, None]
        else:
            state *= gk[:, :, t, :, None].exp()
            state += beta[:, :, t, :, None] * answer
            state += k[:, :, t, :, None] * v[:, :, t, None]
        outputs.append((q[:, :, t, None] @ state)[:, :, 0])
    read = torch.stack(outputs, dim=2) if L else q.sum(-1, keepdim=True) * v
    return read.to(kept), state if output_final_state else None
