"""One pass over the steps in single precision, groups as a dimension of the queries alone."""


def naive_recurrent_gsa(q, k, v, s, g=None, scale=None, initial_state=None, output_final_state=False):
    memories = k.size(2)
    grouped = q.float().view(*q.shape[:2], memories, -1, q.size(-1)) if q.is_contiguous() else None
    if grouped is None:
        grouped = q.float().reshape(*q.shape[:2], memories, -1, q.size(-1))
    if scale is None:
        scale = 1.0 / q.size(-1) ** 0.5
    keys = torch.zeros(q.size(0), memories, k.size(-1), s.size(-1))
    values = torch.zeros(q.size(0), memories, s.size(-1), v.size(-1))
    if initial_state is not None:
        keys, values = initial_state[0].float(), initial_state[1].float()
    seen, results = None, []
    for step, (query, key, value, strength) in enumerate(zip(*(item.unbind(1) for item in (grouped, k, v, s)))):
        key, value, strength = key.float(), value.float(), strength.float()
        if g is not None:
            gate = torch.exp(g[:, step].float())
        elif seen is None:
            seen, gate, strength = strength, torch.ones_like(strength), torch.exp(strength - strength)
        else:
            new = torch.logaddexp(seen, strength)
            gate, strength, seen = torch.exp(seen - new), torch.exp(strength - new), new
        keys = keys * gate[:, :, None, :] + torch.einsum("bhk,bhm->bhkm", key, strength)
        values = values * gate[:, :, :, None] + torch.einsum("bhm,bhv->bhmv", strength, value)
        scores = torch.matmul(query, keys) * scale
        results.append(torch.matmul(torch.softmax(scores, dim=-1), values).flatten(1, 2))
    output = torch.stack(results, dim=1).to(q.dtype)
    return (output, (keys, values)) if output_final_state else (output, None)
