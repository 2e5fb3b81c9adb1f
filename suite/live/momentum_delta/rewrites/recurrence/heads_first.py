"""All rows and heads as one batch, in double precision until the end."""


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
    rows, _steps, heads, width = k.shape

    def lanes(item):
        return item.double().transpose(1, 2).flatten(0, 1).unbind(1)

    def begin(item):
        if item is None:
            return torch.zeros(rows * heads, width, v.shape[-1], dtype=torch.float64)
        return item.float().double().flatten(0, 1)

    memory, momentum = begin(initial_S), begin(initial_M)
    factor = 1 / width**0.5 if scale is None else scale
    outputs = []
    for query, key, value, probe, decay, kept, strength, rate in zip(
        *map(lanes, (q, k, v, p, log_alpha, log_mu, beta, eta))
    ):
        found = torch.einsum("nk,nkv->nv", probe, memory)
        momentum = torch.einsum("n,nkv->nkv", kept.exp(), momentum) + torch.einsum(
            "n,nk,nv->nkv", rate, key, found - value
        )
        memory = torch.einsum("n,nkv->nkv", decay.exp(), memory) - torch.einsum("n,nkv->nkv", strength, momentum)
        outputs.append(torch.einsum("nk,nkv->nv", factor * query, memory))
    if outputs:
        outputs = torch.stack(outputs, dim=1).unflatten(0, (rows, heads)).transpose(1, 2).float()
    else:
        outputs = torch.zeros(v.shape)
    states = None
    if output_final_state:
        states = torch.stack([memory, momentum]).unflatten(1, (rows, heads)).float()
    return outputs, states
