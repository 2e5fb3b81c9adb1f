"""The recurrence of the paper, step by step."""


def naive_recurrent_gdn2(q, k, v, g, b, w, scale=None, initial_state=None, output_final_state=False):
    q, k, v, g, b, w = (item.float() for item in (q, k, v, g, b, w))
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    S = torch.zeros(k.shape[0], *k.shape[2:], v.shape[-1]) if initial_state is None else initial_state.float()
    outputs = []
    for t in range(q.shape[1]):
        S = g[:, t, :, :, None].exp() * S
        read = (b[:, t] * k[:, t]).unsqueeze(-2) @ S
        S = S + k[:, t, :, :, None] * ((w[:, t] * v[:, t]).unsqueeze(-2) - read)
        outputs.append((scale * q[:, t, :, None] @ S).squeeze(-2))
    return torch.stack(outputs, dim=1), S if output_final_state else None
