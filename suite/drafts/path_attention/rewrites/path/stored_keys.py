"""Decoding: all stored keys are transformed at each step, and their gates are added up beside them."""


def naive_path_attn(q, k, v, w, beta, g, scale, chunk_size=64):
    kind, groups = q.dtype, k.shape[2]
    q = q.double().unflatten(2, (groups, -1))
    g = g.double().unflatten(2, (groups, -1))
    k, v, w, beta = k.double(), v.double(), w.double(), beta.double()
    keys = k[:, :0].transpose(1, 2)
    faded = g[:, :0].permute(0, 2, 3, 1)
    outputs = []
    for step in range(k.shape[1]):
        direction = w[:, step].unsqueeze(-2)
        keys = keys - (keys * direction).sum(-1, keepdim=True) * direction * beta[:, step, :, None, None]
        keys = torch.cat([keys, k[:, step].unsqueeze(-2)], dim=-2)
        faded = faded + g[:, step].unsqueeze(-1)
        faded = torch.cat(
            [faded, torch.zeros_like(faded[..., :1]) if step else g.new_zeros(*g.shape[:1], *g.shape[2:], 1)], dim=-1
        )
        logits = scale * (q[:, step] @ keys.mT + faded)
        weights = (logits - logits.logsumexp(-1, keepdim=True)).exp()
        outputs.append(weights @ v[:, : step + 1].transpose(1, 2))
    return torch.stack(outputs, dim=1).flatten(2, 3).to(kind)
