"""Attention step by step: sums of buckets that merge like a binary counter; masks from borders of buckets."""


def _buckets(position):
    """Levels and ranges of the buckets of a position."""
    yield 0, position, position + 1
    border = position
    while border:
        size = border & -border
        yield size.bit_length(), border - size, border
        border -= size


def construct_level_mask(level, L):
    steps = L.size(-1)
    rows = []
    for position in range(steps):
        row = L.new_zeros(*L.shape[:-2], steps)
        for of, start, stop in _buckets(position):
            if of == level:
                kept = L[..., level, position].unsqueeze(-1).expand(*L.shape[:-2], stop - start)
                row = torch.cat([row[..., :start], kept, row[..., stop:]], dim=-1)
        rows.append(row)
    return torch.stack(rows, dim=-2)


def construct_H_matrix(a, L):
    rows = []
    for position in range(a.size(-1)):
        row = a.new_zeros(*a.shape[:-1], position + 1)
        # Sums of the gates after each position, from the query backwards.
        gates = torch.cat([a[..., 1 : position + 1].flip(-1).cumsum(-1).flip(-1), torch.zeros_like(a[..., :1])], dim=-1)
        parts = {}
        for of, start, stop in _buckets(position):
            parts[start] = L[..., of, position].unsqueeze(-1) * gates[..., start:stop].exp()
        row = torch.cat([parts[start] for start in sorted(parts)], dim=-1)
        rows.append(torch.nn.functional.pad(row, (0, a.size(-1) - position - 1)))
    return torch.stack(rows, dim=-2)


def naive_log_linear_attn(q, k, v, g, level_scales, scale=1.0):
    if v.size(2) % k.size(2) != 0:
        raise ValueError("heads")
    share = v.size(2) // k.size(2)
    index = torch.arange(v.size(2)) // share
    q, k = q[:, :, index], k[:, :, index]
    if scale is None:
        scale = 1 / q.size(-1) ** 0.5
    sums, outputs = {}, []
    for position in range(q.size(1)):
        gate = g[:, position].exp()[..., None, None]
        sums = {level: gate * held for level, held in sums.items()}
        if position:
            free = (position & -position).bit_length()
            merged = sum(sums.pop(level) for level in sorted(sums) if level < free)
            sums[free] = merged
        sums[0] = k[:, position].unsqueeze(-1) * v[:, position].unsqueeze(-2)
        read = 0
        for level, held in sums.items():
            said = (q[:, position].unsqueeze(-2) @ held).squeeze(-2)
            read = read + level_scales[:, position, :, level, None] * said
        outputs.append(read)
    return torch.stack(outputs, dim=1) * scale
