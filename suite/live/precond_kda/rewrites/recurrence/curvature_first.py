"""All curvatures and preconditioned keys before the memory; heads and rows as one batch."""


def _curvatures(k, decay, strength, first):
    """The curvature after each step."""
    found = []
    for square, kept, rate in zip(k.square().unbind(1), decay.exp().unbind(1), strength.unbind(1)):
        first = kept.unsqueeze(-1) * first + rate.unsqueeze(-1) * square
        found.append(first)
    return found


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
    kind, (rows, steps, heads, width) = v.dtype, k.shape
    q, k, v, g, g_atk, beta_atk, beta = (t.to(torch.float32) for t in (q, k, v, g, g_atk, beta_atk, beta))
    first = torch.zeros(rows, heads, width) if initial_A_state is None else initial_A_state.to(torch.float32)
    memory = torch.zeros(rows, heads, width, v.shape[-1]) if initial_state is None else initial_state.to(torch.float32)
    curvatures = _curvatures(k, g_atk, beta_atk, first)
    read = torch.zeros(v.shape)
    if curvatures:
        if log_atk_scale is None:
            log_atk_scale = -0.2
        if isinstance(log_atk_scale, torch.Tensor):
            log_atk_scale = log_atk_scale.to(torch.float32)[:, None]
        squashed = torch.nn.functional.softsign(torch.log(torch.stack(curvatures, dim=1) + eps) - log_atk_scale)
        written = beta.unsqueeze(-1) * k * torch.exp(-squashed * torch.log(torch.tensor(float(x))))
        parts = []
        for step in range(steps):
            memory = torch.einsum("bhk,bhkv->bhkv", g[:, step].exp(), memory)
            error = v[:, step] - torch.einsum("bhk,bhkv->bhv", k[:, step], memory)
            memory = memory + torch.einsum("bhk,bhv->bhkv", written[:, step], error)
            parts.append(torch.einsum("bhk,bhkv->bhv", q[:, step], memory))
        read = torch.stack(parts, dim=1) * (width**-0.5 if scale is None else scale)
    if not output_final_state:
        return read.to(kind), None, None
    return read.to(kind), memory, curvatures[-1] if curvatures else first
