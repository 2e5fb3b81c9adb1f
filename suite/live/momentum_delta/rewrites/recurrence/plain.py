"""The recurrence of the paper, step by step."""


def recurrent_momentum_delta_rule_ref(
    q,
    k,
    v,
    log_alpha,
    log_mu,
    p,
    beta=None,
    eta=None,
    scale=None,
    initial_S=None,
    initial_M=None,
    output_final_state=False,
):
    q, k, v, p = (item.float() for item in (q, k, v, p))
    alpha, mu, beta, eta = (
        item.float()[..., None, None] for item in (log_alpha.float().exp(), log_mu.float().exp(), beta, eta)
    )
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    zeros = torch.zeros(k.shape[0], *k.shape[2:], v.shape[-1])
    S = zeros if initial_S is None else initial_S.float()
    M = zeros if initial_M is None else initial_M.float()
    outputs = []
    for t in range(q.shape[1]):
        error = p[:, t, :, None] @ S - v[:, t, :, None]
        M = mu[:, t] * M + eta[:, t] * k[:, t, :, :, None] * error
        S = alpha[:, t] * S - beta[:, t] * M
        outputs.append((scale * q[:, t, :, None] @ S).squeeze(-2))
    outputs = torch.stack(outputs, dim=1)
    return outputs, torch.stack([S, M]) if output_final_state else None
