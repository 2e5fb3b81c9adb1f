"""Softmax attention with the differences of the gates' sums as its bias."""


def naive_forgetting_attn(q, k, v, g, scale=None, window_size=None):
    q, k, v, sums = q.float(), k.float(), v.float(), g.float().cumsum(1).transpose(1, 2)
    k, v = (item.repeat_interleave(q.shape[2] // k.shape[2], dim=2) for item in (k, v))
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = scale * torch.einsum("bthd,bshd->bhts", q, k) + sums[..., :, None] - sums[..., None, :]
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if window_size is not None:
        seen = seen.triu(1 - window_size)
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
    return torch.einsum("bhts,bshd->bthd", weights, v)
