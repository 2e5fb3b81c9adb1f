"""A table of levels by doubling: two copies of the half on the diagonal, a new level below; sums in double."""


def _table(steps):
    table = torch.zeros(1, 1, dtype=torch.int64)
    level = 0
    while table.shape[0] < steps:
        level += 1
        above = torch.full_like(table, 99)
        table = torch.cat([torch.cat([table, above], 1), torch.cat([torch.full_like(table, level), table], 1)], 0)
    return table[:steps, :steps]


def construct_level_mask(level, L):
    scales = L.select(-2, level).unsqueeze(-1)
    return torch.where(_table(L.shape[-1]) == level, scales, torch.zeros_like(scales))


def construct_H_matrix(a, L):
    table = _table(a.shape[-1])
    chosen = torch.nn.functional.one_hot(table.clamp(max=L.shape[-2]), L.shape[-2] + 1)[..., :-1].to(torch.float64)
    scales = torch.einsum("tsl,...lt->...ts", chosen, L.double())
    total = a.double().cumsum(-1)
    logs = (total[..., :, None] - total[..., None, :]).tril()
    return (scales * logs.exp()).to(a.dtype)


def naive_log_linear_attn(q, k, v, g, level_scales, scale=1.0):
    kind = v.dtype
    _rows, _steps, heads, _ = v.shape
    if heads % k.shape[2]:
        raise ValueError("The heads of values can't be shared out.")
    if scale is None:
        scale = k.shape[3] ** -0.5
    outputs = []
    for head in range(heads):
        group = head // (heads // k.shape[2])
        matrix = construct_H_matrix(g[:, :, head], level_scales[:, :, head].mT).double()
        scores = q[:, :, group].double() @ k[:, :, group].double().mT
        outputs.append(scale * ((scores * matrix) @ v[:, :, head].double()))
    return torch.stack(outputs, dim=2).to(kind)
