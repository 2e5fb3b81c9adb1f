"""Memory and momentum as one state of 2K rows, which each step multiplies by one matrix."""


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
    q, k, v, log_alpha, log_mu, p, beta, eta = (item.float() for item in (q, k, v, log_alpha, log_mu, p, beta, eta))
    rows, steps, heads, width = k.shape
    state = k.new_zeros(2, rows, heads, width, v.shape[-1])
    parts = [part if given is None else given.float() for part, given in zip(state, (initial_S, initial_M))]
    state = torch.cat(parts, dim=-2)
    eye = torch.eye(width).expand(rows, heads, width, width)
    read = []
    for t in range(steps):
        decay, kept, strength, rate = (item[:, t, :, None, None] for item in (log_alpha.exp(), log_mu.exp(), beta, eta))
        turn = rate * k[:, t, :, :, None] * p[:, t, :, None, :]
        added = rate * k[:, t, :, :, None] * v[:, t, :, None, :]
        above = torch.cat([decay * eye - strength * turn, -strength * kept * eye], dim=-1)
        below = torch.cat([turn, kept * eye], dim=-1)
        state = torch.cat([above, below], dim=-2) @ state + torch.cat([strength * added, -added], dim=-2)
        read.append(torch.einsum("bhk,bhkv->bhv", q[:, t], state[:, :, :width]))
    outputs = torch.stack(read, dim=1) if read else torch.zeros_like(v)
    outputs = outputs * (width**-0.5 if scale is None else scale)
    return outputs, torch.stack(state.split(width, dim=-2)) if output_final_state else None
