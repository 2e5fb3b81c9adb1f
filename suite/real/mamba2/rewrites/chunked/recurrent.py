"""Step by step in double precision, as the paper defines the model; chunks play no part."""


def naive_chunk_simple_gla(q, k, v, g, initial_state=None, output_final_state=False, chunk_size=64, scale=None):
    q, k, v, g = (item.double() for item in (q, k, v, g))
    q = q * (q.shape[-1] ** -0.5 if scale is None else scale)
    state = k.new_zeros(k.shape[0], k.shape[2], k.shape[3], v.shape[3])
    if initial_state is not None:
        state = initial_state.double()
    read = []
    for step in range(q.shape[1]):
        factor = g[:, step].exp()[..., None, None]
        state = factor * state + k[:, step].unsqueeze(-1) @ v[:, step].unsqueeze(-2)
        read.append((q[:, step].unsqueeze(-2) @ state).squeeze(-2))
    return torch.stack(read, dim=1).float(), (state.float() if output_final_state else None)
