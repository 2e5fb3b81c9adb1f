"""The inverse of one plus a nilpotent matrix as a product over powers of two; exponentials relative to the largest."""


def tril_softmax(scores, strict=True):
    steps = scores.shape[-1]
    allowed = torch.ones(steps, steps, dtype=torch.bool).tril(-1 if strict else 0)
    top = torch.where(allowed, scores.detach(), torch.full_like(scores, -1e4)).amax(-1, keepdim=True)
    shifted = torch.where(allowed, scores - top, torch.zeros_like(scores))
    parts = shifted.exp() * allowed
    total = parts.sum(-1, keepdim=True)
    return parts / torch.where(total > 0, total, torch.ones_like(total))


def naive_deltaformer_attn(q, k, v, beta=None):
    shape = q.shape
    assert len(shape) == 4, "rows, steps, heads, channels"
    assert k.shape == v.shape == shape, "q, k and v are alike"
    if beta is None:
        beta = q.new_ones(shape[:3])
    assert beta.shape == shape[:3], "a strength for each position and head"
    scores = torch.einsum("bthd,bshd->bhts", q.double(), k.double()).div(shape[-1] ** 0.5)
    power = -beta.double().permute(0, 2, 1)[..., None] * tril_softmax(scores)
    corrected = v.double().permute(0, 2, 1, 3)
    span = 1
    while span < shape[1]:
        corrected = corrected + power @ corrected
        power, span = power @ power, 2 * span
    read = tril_softmax(scores, False) @ corrected
    return read.permute(0, 2, 1, 3).to(v.dtype)
