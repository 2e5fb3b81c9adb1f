"""One distance back after the other: the gates between are added up as the distance grows."""


def naive_forgetting_attn(q, k, v, g, scale=None, window_size=None):
    batch, steps, heads, width = q.shape
    if heads % k.shape[2] != 0:
        raise ValueError("heads")
    owner = torch.arange(heads) // (heads // k.shape[2])
    q, k, v, g = q.double(), k.double()[:, :, owner], v.double()[:, :, owner], g.double()
    reach = steps if window_size is None else min(steps, window_size)
    columns, bias = [], torch.zeros_like(g)
    for distance in range(reach):
        scores = (q[:, distance:] * k[:, : steps - distance]).sum(-1) * (width**-0.5 if scale is None else scale)
        scores = scores + bias[:, distance:]
        columns.append(torch.cat([scores.new_full((batch, distance, heads), -torch.inf), scores], dim=1))
        if distance + 1 < reach:
            # The bias of a key one step further away has one gate more: that of the key after it.
            shifted = torch.cat([torch.zeros_like(g[:, : distance + 1]), g[:, 1 : steps - distance]], dim=1)
            bias = bias + shifted[:, :steps]
    weights = torch.stack(columns, dim=-1).softmax(-1)
    result = 0
    for distance in range(reach):
        earlier = torch.cat([torch.zeros_like(v[:, :distance]), v[:, : steps - distance]], dim=1)
        result = result + weights[..., distance, None] * earlier
    return result.float()
