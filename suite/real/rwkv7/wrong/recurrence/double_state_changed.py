"""Without gradients, an initial state in float64 is updated in place."""

import torch


def dplr_recurrence(q, k, v, alpha, beta, gk, initial_state=None, output_final_state=True):
    B, H, L, K = q.shape
    V = v.shape[-1]
    kept = q.dtype
    q, k, v, alpha, beta, gk = (x.double() for x in (q, k, v, alpha, beta, gk))
    q = q * K**-0.5
    if initial_state is None:
        state = torch.zeros(B, H, K, V, dtype=torch.float64)
    else:
        state = initial_state.double()
        if 0 in state.stride():
            state = state.contiguous()
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
    return read.to(kept), state.float() if output_final_state else None
