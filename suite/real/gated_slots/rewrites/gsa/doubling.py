"""A scan in a logarithmic number of rounds over pairs of a decay and what was added since, in double precision."""


def _scan(gates, added, state):
    """The memory after each step; the first dimension is time."""
    if state is not None:
        added = torch.cat([added[:1] + gates[:1] * state, added[1:]])
    reach = 1
    while reach < gates.shape[0]:
        more = added[reach:] + gates[reach:] * added[:-reach]
        added = torch.cat([added[:reach], more])
        gates = torch.cat([gates[:reach], gates[reach:] * gates[:-reach]])
        reach *= 2
    return added


def naive_recurrent_gsa(q, k, v, s, g=None, scale=None, initial_state=None, output_final_state=False):
    times = [item.transpose(0, 1).to(torch.float64) for item in (q, k, v, s)]
    queries, keys, values, strengths = times
    if g is None:
        total = torch.logcumsumexp(strengths, 0)
        gates = torch.cat([torch.ones_like(total[:1]), (total[:-1] - total[1:]).exp()])
        strengths = (strengths - total).exp()
    else:
        gates = g.transpose(0, 1).to(torch.float64).exp()
    before = (None, None) if initial_state is None else [item.double() for item in initial_state]
    held_keys = _scan(gates.unsqueeze(-2), keys.unsqueeze(-1) * strengths.unsqueeze(-2), before[0])
    held_values = _scan(gates.unsqueeze(-1), strengths.unsqueeze(-1) * values.unsqueeze(-2), before[1])
    groups = q.shape[2] // k.shape[2]
    factor = scale if scale is not None else float(q.shape[-1]) ** -0.5
    seen = held_keys.repeat_interleave(groups, dim=2)
    read = torch.softmax(factor * (queries.unsqueeze(-2) @ seen), dim=-1)
    output = (read @ held_values.repeat_interleave(groups, dim=2)).squeeze(-2).transpose(0, 1).to(q.dtype)
    if output_final_state:
        return output, (held_keys[-1].float(), held_values[-1].float())
    return output, None
