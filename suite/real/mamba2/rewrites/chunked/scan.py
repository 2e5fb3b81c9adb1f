"""A scan of doubling strides over pairs of factors and additions, every state of the sequence at once."""


def naive_chunk_simple_gla(q, k, v, g, initial_state=None, output_final_state=False, chunk_size=64, scale=None):
    q, k, v, g = [item.to(torch.float32) for item in (q, k, v, g)]
    factors = g.exp()[..., None, None]
    states = torch.einsum("bthk,bthv->bthkv", k, v)
    if initial_state is not None:
        first = states[:, :1] + factors[:, :1] * initial_state.unsqueeze(1)
        states = torch.cat([first, states[:, 1:]], dim=1)
    stride = 1
    while stride < g.shape[1]:
        states = torch.cat([states[:, :stride], states[:, stride:] + factors[:, stride:] * states[:, :-stride]], dim=1)
        factors = torch.cat([factors[:, :stride], factors[:, stride:] * factors[:, :-stride]], dim=1)
        stride *= 2
    if scale is None:
        scale = q.shape[-1] ** -0.5
    read = torch.einsum("bthk,bthkv->bthv", q, states) * scale
    return read, (states[:, -1].contiguous() if output_final_state else None)
