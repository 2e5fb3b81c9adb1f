"""The vectors w and u of the WY form by their recurrence within the chunk, all chunks side by side."""


def delta_rule_chunkwise(q, k, v, beta, chunk_size=32):
    assert q.shape[2] % chunk_size == 0
    q, k, v = (item.unflatten(2, (-1, chunk_size)) for item in (q, k, v))
    beta = beta.unflatten(2, (-1, chunk_size)).unsqueeze(-1)
    w, u = [], []
    for step in range(chunk_size):
        key, strength = k[..., step, :], beta[..., step, :]
        new_w, new_u = key, v[..., step, :]
        if step:
            overlap = (k[..., :step, :] * key.unsqueeze(-2)).sum(-1, keepdim=True)
            new_w = new_w - (overlap * torch.stack(w, dim=-2)).sum(-2)
            new_u = new_u - (overlap * torch.stack(u, dim=-2)).sum(-2)
        w.append(strength * new_w)
        u.append(strength * new_u)
    w, u = torch.stack(w, dim=-2), torch.stack(u, dim=-2)
    q = q * k.shape[-1] ** -0.5
    memory, outputs = torch.zeros_like(k[:, :, 0].mT @ v[:, :, 0]), []
    for chunk in range(q.shape[2]):
        written = u[:, :, chunk] - w[:, :, chunk] @ memory
        scores = (q[:, :, chunk] @ k[:, :, chunk].mT).tril()
        outputs.append(q[:, :, chunk] @ memory + scores @ written)
        memory = memory + k[:, :, chunk].mT @ written
    return torch.stack(outputs, dim=2).flatten(2, 3), memory
