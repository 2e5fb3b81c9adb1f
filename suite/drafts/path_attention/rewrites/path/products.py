"""Matrices as they stand: the product from each key's successor on, grown by one factor at a time."""


def naive_path_attn(q, k, v, w, beta, g, scale, chunk_size=64):
    rows, steps, query_heads, width = q.shape
    matrices = (
        torch.eye(width, dtype=torch.float64)
        - beta.double()[..., None, None] * w.double()[..., :, None] * w.double()[..., None, :]
    )
    columns = []
    for j in range(steps):
        product = torch.eye(width, dtype=torch.float64).expand(rows, k.shape[2], width, width)
        gate = torch.zeros(rows, query_heads, dtype=torch.float64)
        column = [torch.full((rows, query_heads), -torch.inf, dtype=torch.float64)] * j
        for i in range(j, steps):
            if i > j:
                product = product @ matrices[:, i]
                gate = gate + g[:, i].double()
            key = (k[:, j].double().unsqueeze(-2) @ product).squeeze(-2)
            key = key.repeat_interleave(query_heads // k.shape[2], dim=1)
            column.append((key * q[:, i].double()).sum(-1) + gate)
        columns.append(torch.stack(column, dim=-1))
    scores = torch.stack(columns, dim=-1)
    allowed = torch.ones(steps, steps, dtype=torch.bool).tril()
    logits = torch.where(allowed, scale * torch.where(allowed, scores, 0.0), -torch.inf)
    values = v.double().repeat_interleave(query_heads // v.shape[2], dim=2)
    return torch.einsum("bhij,bjhv->bihv", logits.softmax(-1), values).to(v.dtype)
