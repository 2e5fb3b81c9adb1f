"""The memory is corrected and read, one step after the other."""


def delta_rule_chunkwise(q, k, v, beta, chunk_size=32):
    memory = torch.zeros_like(k[:, :, 0, :, None] * v[:, :, 0, None, :])
    outputs = []
    for t in range(q.shape[2]):
        key = k[:, :, t, None, :]
        memory = memory + beta[:, :, t, None, None] * key.mT @ (v[:, :, t, None, :] - key @ memory)
        outputs.append(q[:, :, t, None, :] @ memory * q.shape[-1] ** -0.5)
    return torch.cat(outputs, dim=2), memory
