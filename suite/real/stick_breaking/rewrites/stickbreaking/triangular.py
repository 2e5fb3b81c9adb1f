"""Sums of softplus by a product with a strictly triangular matrix, heads repeated."""


def naive_stickbreaking_attn(q, k, v, scale=None, attend_current=False):
    batch, length, heads, width = q.shape
    if k.shape[:2] != (batch, length) or k.shape[3] != width or v.shape[:3] != k.shape[:3]:
        raise ValueError("q, k and v do not fit")
    if k.shape[2] < 1 or heads % k.shape[2] != 0:
        raise ValueError("numbers of heads do not fit")
    kind = torch.float64 if torch.float64 in {q.dtype, k.dtype, v.dtype} else torch.float32
    queries, keys, values = (item.to(kind).transpose(1, 2) for item in (q, k, v))
    keys = keys.repeat_interleave(heads // k.shape[2], dim=1)
    values = values.repeat_interleave(heads // k.shape[2], dim=1)
    logits = torch.matmul(queries * (width**-0.5 if scale is None else scale), keys.transpose(-1, -2))
    seen = torch.ones(length, length, dtype=kind).tril(0 if attend_current else -1)
    cost = F.softplus(logits, threshold=40) * seen
    later = torch.ones(length, length, dtype=kind).tril(-1)
    shares = torch.exp(-F.softplus(-logits, threshold=40) - cost @ later) * seen
    rest = torch.exp(-cost.sum(-1))
    return (shares @ values).transpose(1, 2).to(q.dtype), rest.transpose(1, 2).to(q.dtype)
