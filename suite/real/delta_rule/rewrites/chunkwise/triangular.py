"""Each chunk as a triangular system for what its steps write, given the memory that it begins with."""


def delta_rule_chunkwise(q, k, v, beta, chunk_size=32):
    if k.shape[-2] % chunk_size:
        raise AssertionError("the steps do not fill the chunks")
    eye = torch.eye(chunk_size, dtype=k.dtype)
    memory, outputs = 0 * (k[..., :1, :].mT @ v[..., :1, :]), []
    for start in range(0, k.shape[-2], chunk_size):
        some = slice(start, start + chunk_size)
        keys, strengths = k[..., some, :], beta[..., some].unsqueeze(-1)
        system = eye + (strengths * (keys @ keys.mT)).tril(-1)
        wanted = strengths * (v[..., some, :] - keys @ memory)
        written = torch.linalg.solve_triangular(system, wanted, upper=False, unitriangular=True)
        queries = q[..., some, :] * k.shape[-1] ** -0.5
        outputs.append(queries @ memory + (queries @ keys.mT).tril() @ written)
        memory = memory + keys.mT @ written
    return torch.cat(outputs, dim=-2), memory
