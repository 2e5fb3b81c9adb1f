"""Masks by the parity of blocks, and dense products."""


def construct_level_mask(level, L):
    t = torch.arange(L.shape[-1])
    if level == 0:
        inside = torch.eye(len(t), dtype=torch.bool)
    else:
        block = t >> (level - 1)
        inside = (block[:, None] % 2 == 1) & (block[:, None] == block + 1)
    return inside * L[..., level, :, None]


def construct_H_matrix(a, L):
    levels = (a.shape[-1] - 1).bit_length() + 1
    return segsum(a).exp() * sum(construct_level_mask(level, L) for level in range(levels))


def naive_log_linear_attn(q, k, v, g, level_scales, scale=1.0):
    if scale is None:
        scale = q.shape[-1] ** -0.5
    shared = v.shape[2] // k.shape[2]
    q, k = q.repeat_interleave(shared, 2), k.repeat_interleave(shared, 2)
    matrix = construct_H_matrix(g.transpose(1, 2), level_scales.permute(0, 2, 3, 1))
    return torch.einsum("bthk,bshk,bhts,bshv->bthv", q, k, matrix, v) * scale
