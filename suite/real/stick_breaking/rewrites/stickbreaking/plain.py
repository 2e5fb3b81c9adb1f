"""The paper's weights in logarithms, over repeated heads."""


def naive_stickbreaking_attn(q, k, v, scale=None, attend_current=False):
    groups = q.shape[2] // k.shape[2]
    k, v = k.repeat_interleave(groups, 2), v.repeat_interleave(groups, 2)
    if scale is None:
        scale = q.shape[-1] ** -0.5
    z = torch.einsum("bihd,bjhd->bhij", q, k) * scale
    seen = torch.ones(z.shape[-2:], dtype=torch.bool).tril(0 if attend_current else -1)
    passed = F.logsigmoid(-z) * seen
    nearer = passed.flip(-1).cumsum(-1).flip(-1) - passed
    weights = (F.logsigmoid(z) + nearer).exp() * seen
    return torch.einsum("bhij,bjhd->bihd", weights, v), passed.sum(-1).exp().transpose(1, 2)
