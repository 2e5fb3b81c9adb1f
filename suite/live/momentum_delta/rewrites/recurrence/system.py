"""What the steps write as one triangular system over the whole sequence, from the states' weights on every step."""


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
    q, k, v, p, log_alpha, log_mu, beta, eta = (
        item.float().transpose(1, 2) for item in (q, k, v, p, log_alpha, log_mu, beta, eta)
    )
    rows, heads, steps, width = k.shape
    alpha, mu = log_alpha.exp(), log_mu.exp()
    S0 = k.new_zeros(rows, heads, width, v.shape[-1]) if initial_S is None else initial_S.float()
    M0 = torch.zeros_like(S0) if initial_M is None else initial_M.float()
    # Coefficients of S0, M0 and of each written pair in the memory and in the momentum.
    one = torch.ones(rows, heads, 1)
    in_memory, in_momentum = (
        torch.cat([one, 0 * one, k.new_zeros(rows, heads, steps)], -1),
        torch.cat([0 * one, one, k.new_zeros(rows, heads, steps)], -1),
    )
    before, after = [], []
    for t in range(steps):
        before.append(in_memory)
        here = torch.nn.functional.one_hot(torch.tensor(t + 2), steps + 2).float()
        in_momentum = mu[..., t, None] * in_momentum + here
        in_memory = alpha[..., t, None] * in_memory - beta[..., t, None] * in_momentum
        after.append(in_memory)
    keys = eta.unsqueeze(-1) * k
    if steps:
        before, after = torch.stack(before, -2), torch.stack(after, -2)

        def from_start(coefficients, probe):
            return coefficients[..., :1] * (probe @ S0) + coefficients[..., 1:2] * (probe @ M0)

        system = torch.eye(steps) - (before[..., 2:] * (p @ keys.mT)).tril(-1)
        errors = torch.linalg.solve_triangular(system, from_start(before, p) - v, upper=False, unitriangular=True)
        q = q * (width**-0.5 if scale is None else scale)
        outputs = from_start(after, q) + (after[..., 2:] * (q @ keys.mT)).tril() @ errors
    else:
        outputs, errors = torch.zeros_like(v), v
    states = None
    if output_final_state:
        states = torch.stack(
            [
                last[..., :1, None] * S0 + last[..., 1:2, None] * M0 + (keys * last[..., 2:, None]).mT @ errors
                for last in (in_memory, in_momentum)
            ]
        )
    return outputs.transpose(1, 2).contiguous(), states
