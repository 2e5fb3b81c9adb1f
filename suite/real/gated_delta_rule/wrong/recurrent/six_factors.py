"""Solves for the writes of all steps by an inverse of six factors, which leaves out what is more than 63 writes ago."""


def naive_recurrent_gated_delta_rule(q, k, v, beta, g, scale=None, initial_state=None, output_final_state=False):
    q, k, v, beta, g = (item.transpose(1, 2).to(torch.float32) for item in (q, k, v, beta, g))
    steps, width = k.shape[2], k.shape[3]
    memory = torch.zeros(*k.shape[:2], width, v.shape[-1]) if initial_state is None else initial_state.float()
    scale = width**-0.5 if scale is None else scale
    total = g.double().cumsum(-1)
    place = torch.arange(steps)
    earlier = place[None, :] < place[:, None]
    between = (total[..., :, None] - total[..., None, :]).masked_fill(~(earlier | (place[:, None] == place)), -200.0)
    between = between.exp().float()
    mixing = -beta[..., None] * (k @ k.mT) * between * earlier
    inverse = torch.eye(steps) + mixing
    for _ in range(5):
        mixing = mixing @ mixing
        inverse = inverse + inverse @ mixing
    began = total.exp().float()[..., None]
    written = inverse @ (beta[..., None] * (v - began * (k @ memory)))
    outputs = scale * (began * (q @ memory) + (q @ k.mT * between) @ written)
    if not output_final_state:
        return outputs.transpose(1, 2), None
    last = (total[..., -1:] - total).exp().float()
    return outputs.transpose(1, 2), began[..., -1:, :] * memory + (k * last[..., None]).mT @ written
