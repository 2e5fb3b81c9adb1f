"""Keys one after the other, with unnormalised sums and a running maximum, as a kernel does it."""


def naive_parallax(q, r, k, v, scale=None, window_size=None, causal=True):
    rows, steps, query_heads, width = q.shape
    heads = k.shape[2]
    if heads == 0 or query_heads % heads != 0:
        raise ValueError(f"{query_heads} is no multiple of {heads}")
    scale = width**-0.5 if scale is None else scale
    owner = torch.arange(query_heads) // (query_heads // heads)
    q32, r32, keys, values = q.float(), r.float(), k.float()[:, :, owner], v.float()[:, :, owner]
    place = torch.arange(steps).view(1, steps, 1, 1)
    highest = torch.full((rows, steps, query_heads, 1), -1e30)
    total, moment = torch.zeros_like(highest), torch.zeros_like(highest)
    plain, tilted = torch.zeros_like(q32), torch.zeros_like(q32)
    for step in range(steps):
        key, value = keys[:, step : step + 1], values[:, step : step + 1]
        logit = scale * (q32 * key).sum(-1, keepdim=True)
        seen = torch.ones_like(place, dtype=torch.bool)
        if causal:
            seen = place >= step
            if window_size is not None:
                seen = seen & (place - step < window_size)
        higher = torch.where(seen, torch.maximum(highest, logit.detach()), highest)
        kept = torch.exp(highest - higher)
        share = torch.where(seen, torch.exp(torch.where(seen, logit - higher, torch.zeros(()))), torch.zeros(()))
        lean = share * (r32 * key).sum(-1, keepdim=True)
        total, moment = kept * total + share, kept * moment + lean
        plain, tilted = kept * plain + share * value, kept * tilted + lean * value
        highest = higher
    outputs = plain / total * (1 + moment / total) - tilted / total
    return outputs.to(q.dtype)
