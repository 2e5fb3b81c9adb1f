"""Both passes in one loop, as the summary writes them."""


def naive_recurrent_gsa(q, k, v, s, g=None, scale=None, initial_state=None, output_final_state=False):
    heads, groups = k.shape[2], q.shape[2] // k.shape[2]
    if scale is None:
        scale = q.shape[-1] ** -0.5
    if g is None:
        z = s.logcumsumexp(1)
        g = torch.cat([z[:, :1], z[:, :-1]], 1) - z
        s = (s - z).exp()
    if initial_state is None:
        keys = values = 0
    else:
        keys, values = initial_state
    outputs = []
    for t in range(q.shape[1]):
        gate = g[:, t].exp()
        keys = keys * gate[..., None, :] + k[:, t, :, :, None] * s[:, t, :, None]
        values = values * gate[..., None] + s[:, t, :, :, None] * v[:, t, :, None]
        scores = q[:, t].unflatten(1, (heads, groups)) @ keys * scale
        outputs.append((scores.softmax(-1) @ values).flatten(1, 2))
    state = (keys.float(), values.float()) if output_final_state else None
    return torch.stack(outputs, 1), state
