"""Where alpha is 0, takes ratios of accumulated decays, which overflow if these sum to less than -700."""

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
        state = initial_state.to(torch.float32, copy=True)
    needed = torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v, alpha, beta, gk, state))
    if L and not needed and not alpha.any():
        # Nothing is removed, so that this is linear attention with decays.
        total = gk.double().cumsum(2)
        asking, kept_keys = q.double() * total.exp(), k.double() * (-total).exp()
        read = (asking @ kept_keys.mT).tril() @ v.double() + asking @ state.double()
        state = total[:, :, -1, :, None].exp() * (state.double() + kept_keys.mT @ v.double())
        return read.to(kept), state.float() if output_final_state else None
    outputs = []
    for t in range(L):
        answer = alpha[:, :, t, None] @ state
        state = gk[:, :, t, :, None].exp() * state + beta[:, :, t, :, None] * answer
        state = state + k[:, :, t, :, None] * v[:, :, t, None]
        outputs.append((q[:, :, t, None] @ state)[:, :, 0])
    read = torch.stack(outputs, dim=2) if L else q.sum(-1, keepdim=True) * v
    return read.to(kept), state if output_final_state else None
