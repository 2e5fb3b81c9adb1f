"""Products of the steps' transitions, identity less beta k kT, as matrices; each chunk makes one map of the memory."""

import math


def delta_rule_chunkwise(q, k, v, beta, chunk_size=32):
    assert not k.shape[2] % chunk_size
    width = k.shape[3]
    identity = torch.eye(width, dtype=k.dtype)
    keys = beta[..., None, None] * k.unsqueeze(-1)
    turns, writes = (identity - keys @ k.unsqueeze(-2)).unbind(2), (keys @ v.unsqueeze(-2)).unbind(2)
    outputs, memory = [], torch.zeros_like(writes[0])
    for start in range(0, k.shape[2], chunk_size):
        # What the chunk makes of any memory that it begins with, and what it adds to it.
        product, added = identity, torch.zeros_like(memory)
        for step in range(start, start + chunk_size):
            product, added = turns[step] @ product, turns[step] @ added + writes[step]
            query = q[:, :, step : step + 1]
            outputs.append(query @ product @ memory + query @ added)
        memory = product @ memory + added
    return torch.cat(outputs, dim=2) / math.sqrt(width), memory
