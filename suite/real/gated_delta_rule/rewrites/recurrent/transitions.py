"""Each step's transition as a matrix, the identity less beta k kT, applied to the memory as a whole."""


def naive_recurrent_gated_delta_rule(q, k, v, beta, g, scale=None, initial_state=None, output_final_state=False):
    q, k, v, beta, g = (item.float() for item in (q, k, v, beta, g))
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    identity = torch.eye(k.shape[-1])
    transitions = identity - torch.einsum("bth,bthi,bthj->bthij", beta, k, k)
    transitions = g.exp()[..., None, None] * transitions
    writes = torch.einsum("bth,bthi,bthj->bthij", beta, k, v)
    state = torch.zeros_like(writes[:, 0]) if initial_state is None else initial_state.float()
    states = []
    for transition, write in zip(transitions.unbind(1), writes.unbind(1)):
        state = torch.einsum("bhij,bhjv->bhiv", transition, state) + write
        states.append(state)
    out = torch.einsum("bthi,bthiv->bthv", q, torch.stack(states, dim=1)) * scale
    return out, (states[-1] if output_final_state else None)
