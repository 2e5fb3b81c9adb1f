"""Keys in blocks of five, with a running maximum, sum and weighted values, as kernels do it."""


def naive_forgetting_attn(q, k, v, g, scale=None, window_size=None):
    heads, kept, steps = q.shape[2], k.shape[2], q.shape[1]
    if kept == 0 or heads % kept != 0:
        raise ValueError("HQ has to be a multiple of H")
    if scale is None:
        scale = q.shape[-1] ** -0.5
    q, k, v = (item.float().transpose(1, 2) for item in (q, k, v))
    k, v = k.repeat_interleave(heads // kept, dim=1), v.repeat_interleave(heads // kept, dim=1)
    decay = g.double().transpose(1, 2).cumsum(-1)
    place = torch.arange(steps)
    # Finite, so that blocks without a key that may be seen leave no NaN.
    top = torch.full((*q.shape[:3], 1), -1e30)
    total = torch.zeros_like(top)
    result = q.new_zeros(*q.shape[:3], v.shape[-1])
    for start in range(0, steps, 5):
        part = slice(start, start + 5)
        back = place[:, None] - place[part]
        seen = back >= 0 if window_size is None else (back >= 0) & (back < window_size)
        scores = q @ k[:, :, part].mT * scale + (decay[..., :, None] - decay[..., None, part]).float()
        scores = scores.masked_fill(~seen, -1e30)
        higher = torch.maximum(top, scores.amax(-1, keepdim=True)).detach()
        weights = torch.exp(scores - higher) * seen
        shrink = torch.exp(top - higher)
        total = total * shrink + weights.sum(-1, keepdim=True)
        result = result * shrink + weights @ v[:, :, part]
        top = higher
    return (result / total).transpose(1, 2)
