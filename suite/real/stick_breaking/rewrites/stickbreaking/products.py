"""Cumulative products of sigmoids in double precision, without logarithms, over keys in reverse."""


def naive_stickbreaking_attn(q, k, v, scale=None, attend_current=False):
    if q.shape[:2] != k.shape[:2] or k.shape[:3] != v.shape[:3] or q.shape[-1] != k.shape[-1]:
        raise ValueError("shapes")
    if q.shape[2] % k.shape[2]:
        raise ValueError("heads")
    length, groups = q.shape[1], q.shape[2] // k.shape[2]
    queries = q.double().transpose(1, 2)
    keys, values = (item.double().transpose(1, 2).repeat_interleave(groups, dim=1) for item in (k, v))
    logits = queries @ keys.mT * (scale if scale is not None else q.shape[-1] ** -0.5)
    seen = torch.ones(length, length).tril(0 if attend_current else -1).bool()
    missed = torch.sigmoid(-logits).where(seen, torch.ones_like(logits))
    taken = torch.sigmoid(logits) * seen
    left = missed.flip(-1).cumprod(-1).flip(-1)
    later = torch.cat([left[..., 1:], torch.ones_like(left[..., :1])], -1)
    output = (taken * later) @ values
    return output.transpose(1, 2).to(q.dtype), left[..., 0].transpose(1, 2).to(q.dtype)
