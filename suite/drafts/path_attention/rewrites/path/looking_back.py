"""Each query walks back, multiplied by one transformation after the other; no chunks."""


def naive_path_attn(q, k, v, w, beta, g, scale, chunk_size=64):
    share = q.shape[2] // k.shape[2]
    kind = q.dtype
    q, k, v, w, beta, g = (item.float() for item in (q, k, v, w, beta, g))
    k, v, w, beta = (item.repeat_interleave(share, dim=2) for item in (k, v, w, beta))
    outputs = []
    for i in range(q.shape[1]):
        moved, passed, scores = q[:, i], torch.zeros_like(g[:, i]), []
        for j in range(i, -1, -1):
            scores.append((moved * k[:, j]).sum(-1) + passed)
            along = (moved * w[:, j]).sum(-1) * beta[:, j]
            moved = moved - along.unsqueeze(-1) * w[:, j]
            passed = passed + g[:, j]
        weights = torch.softmax(scale * torch.stack(scores, dim=-1), dim=-1)
        read = torch.einsum("bhj,bjhv->bhv", weights, v[:, : i + 1].flip(1))
        outputs.append(read)
    return torch.stack(outputs, dim=1).to(kind)
