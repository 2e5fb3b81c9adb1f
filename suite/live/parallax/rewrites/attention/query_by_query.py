"""One position after the other, over the keys that it sees, by the covariance matrix of keys and values."""


def naive_parallax(q, r, k, v, scale=None, window_size=None, causal=True):
    _rows, steps, query_heads, width = q.shape
    heads = k.shape[2]
    if not heads or query_heads % heads:
        raise ValueError("query heads must be a multiple of key heads")
    groups = query_heads // heads
    factor = 1 / width**0.5 if scale is None else scale
    queries, probes = (item.float().unflatten(2, (heads, groups)) for item in (q, r))
    keys, values = k.float(), v.float()
    found = []
    for step in range(steps):
        first, last = 0, steps
        if causal:
            last = step + 1
            first = 0 if window_size is None else max(0, last - window_size)
        key, value = keys[:, first:last], values[:, first:last]
        logits = torch.einsum("bhgd,bjhd->bhgj", queries[:, step], key) * factor
        weights = torch.exp(logits - torch.logsumexp(logits, dim=-1, keepdim=True))
        weights = weights / weights.sum(-1, keepdim=True)
        mean_key = torch.einsum("bhgj,bjhd->bhgd", weights, key)
        mean_value = torch.einsum("bhgj,bjhd->bhgd", weights, value)
        away = key.permute(0, 2, 1, 3).unsqueeze(2) - mean_key.unsqueeze(3)
        off = value.permute(0, 2, 1, 3).unsqueeze(2) - mean_value.unsqueeze(3)
        covariance = torch.einsum("bhgj,bhgjd,bhgje->bhgde", weights, away, off)
        found.append(mean_value - torch.einsum("bhgd,bhgde->bhge", probes[:, step], covariance))
    return torch.stack(found, dim=1).flatten(2, 3).to(q.dtype)
