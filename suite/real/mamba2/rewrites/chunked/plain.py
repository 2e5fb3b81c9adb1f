"""The recurrence of the paper's section 2, one step after the other."""


def naive_chunk_simple_gla(q, k, v, g, initial_state=None, output_final_state=False, chunk_size=64, scale=None):
    q, k, v, g = q.float(), k.float(), v.float(), g.float()
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    state = 0.0 if initial_state is None else initial_state
    outputs = []
    for t in range(q.shape[1]):
        state = g[:, t, :, None, None].exp() * state + k[:, t, :, :, None] * v[:, t, :, None, :]
        outputs.append(scale * (q[:, t, :, None, :] @ state).squeeze(-2))
    return torch.stack(outputs, dim=1), state if output_final_state else None
