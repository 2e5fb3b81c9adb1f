"""Transitions as matrices, diagonal plus rank one, multiplied to the state in double precision."""


def dplr_recurrence(q, k, v, alpha, beta, gk, initial_state=None, output_final_state=True):
    kind = q.dtype
    q, k, v, alpha, beta, gk = (item.double() for item in (q, k, v, alpha, beta, gk))
    transitions = torch.diag_embed(gk.exp()) + beta.unsqueeze(-1) * alpha.unsqueeze(-2)
    writes = k.unsqueeze(-1) * v.unsqueeze(-2)
    state = k.new_zeros(*k.shape[:2], k.shape[-1], v.shape[-1])
    if initial_state is not None:
        state = state + initial_state.double()
    outputs = k.new_zeros(*v.shape)
    for step in range(k.shape[2]):
        state = transitions[:, :, step] @ state + writes[:, :, step]
        read = (q[:, :, step].unsqueeze(-2) @ state).squeeze(-2) / k.shape[-1] ** 0.5
        outputs = outputs.index_add(2, torch.tensor([step]), read.unsqueeze(2))
    return outputs.to(kind), state.float() if output_final_state else None
