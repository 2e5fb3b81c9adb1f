"""From the nearest key backwards, with what is left of the stick after each, as products of sigmoids."""


def naive_stickbreaking_attn(q, k, v, scale=None, attend_current=False):
    if not (q.shape[:2] == k.shape[:2] == v.shape[:2] and k.shape[2] == v.shape[2] and q.shape[3] == k.shape[3]):
        raise ValueError("shapes that do not go together")
    if q.shape[2] % k.shape[2]:
        raise ValueError("heads that do not go together")
    # Double precision throughout, since products of many small factors leave the range of single precision.
    groups = q.shape[2] // k.shape[2]
    queries = q.double().transpose(1, 2)
    keys, values = (item.double().repeat_interleave(groups, dim=2).transpose(1, 2) for item in (k, v))
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    outputs, rests = [], []
    for place in range(q.shape[1]):
        left = torch.zeros_like(queries[:, :, place, 0])
        total = queries.new_zeros(*queries.shape[:2], v.shape[-1])
        for other in range(place if attend_current else place - 1, -1, -1):
            logit = factor * (queries[:, :, place] * keys[:, :, other]).sum(-1)
            share = torch.exp(left + F.logsigmoid(logit))
            total = total + share[..., None] * values[:, :, other]
            left = left + F.logsigmoid(-logit)
        outputs.append(total)
        rests.append(left.exp())
    # Nothing that a query does not see may have cut the graph.
    output = torch.stack(outputs, 1) + 0 * (queries.sum() + keys.sum() + values.sum())
    rest = torch.stack(rests, 1) + 0 * (queries.sum() + keys.sum())
    return output.to(q.dtype), rest.to(q.dtype)
