"""The level of a pair is the number of bits up to the highest in which the positions differ; scales are gathered."""


def _levels(steps):
    return torch.tensor([[(t ^ s).bit_length() if s <= t else -1 for s in range(steps)] for t in range(steps)])


def construct_level_mask(level, L):
    belongs = _levels(L.shape[-1]) == level
    return belongs.to(L.dtype) * L[..., level, :, None]


def construct_H_matrix(a, L):
    steps = a.shape[-1]
    levels = _levels(steps)
    index = levels.clamp(min=0).expand(*a.shape, steps)
    scales = torch.gather(L.transpose(-1, -2), -1, index)
    total = a.double().cumsum(-1)
    decay = (total.unsqueeze(-1) - total.unsqueeze(-2)).masked_fill(levels < 0, -torch.inf).exp()
    return (decay * scales).to(a.dtype)


def naive_log_linear_attn(q, k, v, g, level_scales, scale=1.0):
    groups, heads = k.shape[2], v.shape[2]
    if heads % groups:
        raise ValueError(f"{heads} heads of values for {groups} of keys")
    factor = k.shape[-1] ** -0.5 if scale is None else scale
    matrix = construct_H_matrix(g.transpose(1, 2), level_scales.permute(0, 2, 3, 1)).unflatten(1, (groups, -1))
    scores = torch.einsum("btgk,bsgk->bgts", q, k).unsqueeze(2)
    out = torch.matmul(matrix * scores, v.transpose(1, 2).unflatten(1, (groups, -1)))
    return factor * out.flatten(1, 2).transpose(1, 2)
