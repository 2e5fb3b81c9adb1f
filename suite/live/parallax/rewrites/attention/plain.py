"""Softmax weights, and the covariance of centred products and centred values."""


def naive_parallax(q, r, k, v, scale=None, window_size=None, causal=True):
    kind, T, G = q.dtype, q.shape[1], q.shape[2] // k.shape[2]
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    k, v = k.float().repeat_interleave(G, 2), v.float().repeat_interleave(G, 2)
    logits = torch.einsum("bihd,bjhd->bhij", q.float(), k) * scale
    if causal:
        seen = torch.ones(T, T, dtype=torch.bool).tril()
        if window_size is not None:
            seen = seen.triu(1 - window_size)
        logits = logits.masked_fill(~seen, -torch.inf)
    p = logits.softmax(-1)
    mean = torch.einsum("bhij,bjhd->bihd", p, v)
    products = torch.einsum("bihd,bjhd->bhij", r.float(), k)
    centred = products - (p * products).sum(-1, keepdim=True)
    return (mean - torch.einsum("bhij,bjhd->bihd", p * centred, v)).to(kind)
