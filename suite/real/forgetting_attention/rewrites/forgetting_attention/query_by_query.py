"""One query after the other, over the keys of its window alone, in double precision, with a log-sum-exp."""


def naive_forgetting_attn(q, k, v, g, scale=None, window_size=None):
    _, steps, heads, width = q.shape
    kept = k.shape[2]
    if kept < 1 or heads % kept:
        raise ValueError("heads")
    factor = width**-0.5 if scale is None else scale
    q, g = q.double(), g.double()
    k, v = (item.double().repeat_interleave(heads // kept, dim=2) for item in (k, v))
    rows = []
    for i in range(steps):
        first = 0 if window_size is None else max(0, i - window_size + 1)
        # What is forgotten between a key and the query: all gates after the key's own.
        after = g[:, first + 1 : i + 1].flip(1).cumsum(1).flip(1)
        after = torch.cat([after, torch.zeros_like(g[:, :1])], dim=1)
        scores = torch.einsum("bshd,bhd->bsh", k[:, first : i + 1], q[:, i]) * factor + after
        weights = (scores - scores.logsumexp(1, keepdim=True)).exp()
        rows.append((weights.unsqueeze(-1) * v[:, first : i + 1]).sum(1))
    return torch.stack(rows, dim=1).float()
