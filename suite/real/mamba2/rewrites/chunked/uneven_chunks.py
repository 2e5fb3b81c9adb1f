"""Chunks of the given size without padding, with segment sums that are added up anew from each position on."""


def _segment_sums(g):
    """Sums of g over the positions after j up to i, as entry (i, j); minus infinity above the diagonal."""
    steps = g.shape[-1]
    spread = g.unsqueeze(-1).expand(*g.shape, steps).masked_fill(torch.ones(steps, steps, dtype=torch.bool).triu(), 0)
    return spread.cumsum(-2).masked_fill(torch.ones(steps, steps, dtype=torch.bool).triu(1), -torch.inf)


def naive_chunk_simple_gla(q, k, v, g, initial_state=None, output_final_state=False, chunk_size=64, scale=None):
    rows, _, heads, width = q.shape
    scale = width**-0.5 if scale is None else scale
    state = torch.zeros(rows, heads, width, v.shape[-1]) if initial_state is None else initial_state
    read = []
    for parts in zip(*(item.float().split(chunk_size, dim=1) for item in (q, k, v, g))):
        c, b, x, a = (part.transpose(1, 2) for part in parts)
        weights = _segment_sums(a).exp()
        own = (c @ b.mT * weights) @ x
        before = (c * a.cumsum(-1).exp().unsqueeze(-1)) @ state
        read.append(scale * (own + before).transpose(1, 2))
        state = a.sum(-1).exp()[..., None, None] * state + b.mT @ (weights[..., -1, :].unsqueeze(-1) * x)
    return torch.cat(read, dim=1), (state if output_final_state else None)
