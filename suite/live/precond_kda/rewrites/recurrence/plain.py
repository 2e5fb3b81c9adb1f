"""The recurrences of curvature and memory, step by step."""


def naive_recurrent_precond_kda(
    q,
    k,
    v,
    g,
    g_atk,
    beta_atk,
    beta,
    scale=None,
    initial_state=None,
    initial_A_state=None,
    output_final_state=False,
    x=1.5,
    eps=1e-6,
    log_atk_scale=None,
):
    kind = v.dtype
    q, k, v, g, g_atk, beta_atk, beta = (item.float() for item in (q, k, v, g, g_atk, beta_atk, beta))
    scale = k.shape[-1] ** -0.5 if scale is None else scale
    centre = (
        torch.tensor(-0.2 if log_atk_scale is None else log_atk_scale)
        if not torch.is_tensor(log_atk_scale)
        else log_atk_scale
    )
    centre = centre.float().reshape(-1, 1)
    S = torch.zeros(k.shape[0], *k.shape[2:], v.shape[-1]) if initial_state is None else initial_state.float()
    A = torch.zeros_like(S[..., 0]) if initial_A_state is None else initial_A_state.float()
    outputs = []
    for t in range(q.shape[1]):
        A = g_atk[:, t, :, None].exp() * A + beta_atk[:, t, :, None] * k[:, t] ** 2
        r = (A + eps).log() - centre
        written = k[:, t] * x ** -(r / (1 + r.abs()))
        S = g[:, t, :, :, None].exp() * S
        error = v[:, t, :, None] - k[:, t, :, None] @ S
        S = S + beta[:, t, :, None, None] * written.unsqueeze(-1) * error
        outputs.append((scale * q[:, t, :, None] @ S).squeeze(-2))
    outputs = torch.stack(outputs, dim=1).to(kind)
    return (outputs, S, A) if output_final_state else (outputs, None, None)
