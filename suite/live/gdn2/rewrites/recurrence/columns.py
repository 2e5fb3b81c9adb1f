"""Gated keys and values first, then the columns of the memory as a batch of vectors."""


def naive_recurrent_gdn2(q, k, v, g, b, w, scale=None, initial_state=None, output_final_state=False):
    rows, steps, heads, width = k.shape
    channels = v.shape[-1]
    factor = width**-0.5 if scale is None else scale
    query, key = factor * q.float(), k.float()
    probe, target, kept = b.float() * key, w.float() * v.float(), torch.exp(g.float())
    if initial_state is None:
        columns = torch.zeros(channels, rows, heads, width)
    else:
        columns = initial_state.float().permute(3, 0, 1, 2)
    read = [torch.zeros(channels, rows, 0, heads)]
    for step in range(steps):
        columns = columns * kept[:, step]
        missing = target[:, step].movedim(-1, 0) - (columns * probe[:, step]).sum(-1)
        columns = torch.addcmul(columns, missing.unsqueeze(-1), key[:, step].unsqueeze(0))
        read.append((columns * query[:, step]).sum(-1).unsqueeze(2))
    outputs = torch.cat(read, dim=2).permute(1, 2, 3, 0)
    if not output_final_state:
        return outputs, None
    return outputs, columns.permute(1, 2, 3, 0)
