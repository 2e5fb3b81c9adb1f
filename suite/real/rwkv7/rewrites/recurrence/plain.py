"""The recurrence as the summary writes it, with the state transposed."""


def dplr_recurrence(q, k, v, alpha, beta, gk, initial_state=None, output_final_state=True):
    state = torch.zeros(*q.shape[:2], q.shape[-1], v.shape[-1]) if initial_state is None else initial_state
    outputs = []
    for t in range(q.shape[2]):
        removed = torch.einsum("bhk,bhd,bhdv->bhkv", beta[:, :, t], alpha[:, :, t], state)
        written = k[:, :, t, :, None] * v[:, :, t, None, :]
        state = gk[:, :, t].exp().unsqueeze(-1) * state + removed + written
        outputs.append(torch.einsum("bhk,bhkv->bhv", q[:, :, t], state))
    return torch.stack(outputs, dim=2) * q.shape[-1] ** -0.5, state if output_final_state else None
