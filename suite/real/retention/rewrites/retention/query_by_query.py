"""One step after the other, with a vector of decays over the past and no state, in single precision."""

import math


def naive_retention(q, k, v):
    dtype, (_, heads, steps, width) = q.dtype, q.shape
    q, k, v = q.float(), k.float(), v.float()
    decay = torch.tensor([1 - 0.5 ** (5 + head) for head in range(heads)], dtype=torch.float64)
    # decays[h, n] is what n steps leave.
    decays = (decay[:, None] ** torch.arange(steps)).float()
    rows = []
    for step in range(steps):
        scores = (k[:, :, : step + 1] * q[:, :, step : step + 1]).sum(-1) * decays[:, : step + 1].flip(-1)
        rows.append((scores.unsqueeze(-1) * v[:, :, : step + 1]).sum(-2) / math.sqrt(width))
    return torch.stack(rows, dim=2).to(dtype)
