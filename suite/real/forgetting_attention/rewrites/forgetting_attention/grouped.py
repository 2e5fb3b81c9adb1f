"""Heads of a group side by side without a copy of keys and values, and a bias that is summed up key by key."""


def naive_forgetting_attn(q, k, v, g, scale=None, window_size=None):
    batch, steps, heads, width = q.shape
    groups = k.shape[2]
    if groups == 0 or heads % groups != 0:
        raise ValueError(f"{heads} heads, {groups} groups")
    scale = width**-0.5 if scale is None else scale
    window_size = steps if window_size is None else window_size
    q = q.to(torch.float32).reshape(batch, steps, groups, heads // groups, width)
    scores = torch.einsum("btngd,bsnd->bngts", q, k.to(torch.float32)) * scale
    # For each query the gates after each key, by sums over a triangle.
    places = torch.arange(steps)
    back = places[:, None] - places
    between = (places[:, None, None] >= places) & (places > places[:, None])
    forgotten = torch.einsum("tsl,blh->bhts", between.float(), g.to(torch.float32))
    scores = scores + forgotten.reshape(batch, groups, heads // groups, steps, steps)
    scores = torch.where((back >= 0) & (back < window_size), scores, -torch.inf)
    read = torch.einsum("bngts,bsnd->btngd", torch.softmax(scores, dim=-1), v.to(torch.float32))
    return read.reshape(batch, steps, heads, -1)
