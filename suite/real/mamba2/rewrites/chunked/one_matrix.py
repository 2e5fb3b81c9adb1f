"""The dual form: one semiseparable matrix over all steps, and the initial state as one more term."""


def naive_chunk_simple_gla(q, k, v, g, initial_state=None, output_final_state=False, chunk_size=64, scale=None):
    q, k, v, g = (item.movedim(2, 1).to(torch.float64) for item in (q, k, v, g))
    factor = 1 / q.size(-1) ** 0.5 if scale is None else scale
    total = g.cumsum(-1)
    steps = total.size(-1)
    later = torch.ones(steps, steps, dtype=torch.bool).triu(1)
    mask = torch.exp((total.unsqueeze(-1) - total.unsqueeze(-2)).masked_fill(later, -torch.inf))
    read = torch.einsum("bhtk,bhsk,bhts,bhsv->bhtv", q, k, mask, v)
    final = torch.einsum("bhs,bhsk,bhsv->bhkv", mask[..., -1, :], k, v)
    if initial_state is not None:
        start = initial_state.to(torch.float64)
        read = read + torch.einsum("bht,bhtk,bhkv->bhtv", total.exp(), q, start)
        final = final + total[..., -1, None, None].exp() * start
    read = (read * factor).movedim(1, 2).to(torch.float32)
    return read, final.to(torch.float32) if output_final_state else None
