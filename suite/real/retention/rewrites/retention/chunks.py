"""Chunks of 32 steps: products with decays within a chunk, a state from one to the next, in single precision."""


def naive_retention(q, k, v):
    given, width = q.dtype, q.shape[-1]
    q, k, v = q.to(torch.float32) / width**0.5, k.to(torch.float32), v.to(torch.float32)
    log_decay = torch.log1p(-(2.0 ** (-5.0 - torch.arange(q.shape[1], dtype=torch.float32))))[:, None, None]
    state = q.new_zeros(q.shape[0], q.shape[1], width, v.shape[-1])
    outputs = []
    for start in range(0, q.shape[2], 32):
        rows, keys, values = (item[:, :, start : start + 32] for item in (q, k, v))
        place = torch.arange(rows.shape[2], dtype=torch.float32)
        back = place[:, None] - place
        within = torch.where(back < 0, 0.0, (log_decay * back.clamp(min=0)).exp())
        across = (log_decay * (place + 1)[:, None]).exp()
        outputs.append((rows @ keys.mT * within) @ values + across * (rows @ state))
        left = (log_decay * (len(place) - 1 - place)[:, None]).exp()
        state = (log_decay * len(place)).exp() * state + (left * keys).mT @ values
    return torch.cat(outputs, dim=2).to(given)
