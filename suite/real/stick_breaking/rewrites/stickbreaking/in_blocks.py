"""Blocks of three keys, nearest first, with the logarithm of what is left carried from block to block, head by head."""


def naive_stickbreaking_attn(q, k, v, scale=None, attend_current=False):
    if q.shape[:2] != k.shape[:2] or k.shape[:3] != v.shape[:3] or q.shape[-1] != k.shape[-1]:
        raise ValueError("shapes")
    groups, over = divmod(q.shape[2], k.shape[2])
    if over:
        raise ValueError("heads")
    wide = any(item.dtype == torch.float64 for item in (q, k, v))
    queries, keys, values = (item.double() if wide else item.float() for item in (q, k, v))
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    length, size = q.shape[1], 3
    outputs, rests = [], []
    for head in range(q.shape[2]):
        own, key, value = queries[:, :, head], keys[:, :, head // groups], values[:, :, head // groups]
        left = own.new_zeros(own.shape[:2])
        total = torch.zeros_like(value)
        for start in range((length - 1) // size * size, -1, -size):
            block = slice(start, start + size)
            logits = torch.bmm(own, key[:, block].mT) * scale
            count = logits.shape[-1]
            ahead = torch.arange(length)[:, None] - torch.arange(start, start + count)
            hidden = ahead < (0 if attend_current else 1)
            missed = F.logsigmoid(-logits).masked_fill(hidden, 0)
            upto = left
            shares = []
            for column in range(count - 1, -1, -1):
                share = (F.logsigmoid(logits[..., column]) + upto).exp()
                shares.insert(0, share.masked_fill(hidden[:, column], 0))
                upto = upto + missed[..., column]
            total = total + torch.stack(shares, -1) @ value[:, block]
            left = upto
        outputs.append(total)
        rests.append(left.exp())
    return torch.stack(outputs, 2).to(q.dtype), torch.stack(rests, 2).to(q.dtype)
