"""Both softmaxes by a mask, and one corrected value after the other."""


def tril_softmax(scores, strict=True):
    steps = scores.shape[-1]
    hidden = torch.ones(steps, steps, dtype=torch.bool).triu(0 if strict else 1)
    return scores.masked_fill(hidden, -1e9).softmax(-1).masked_fill(hidden, 0.0)


def naive_deltaformer_attn(q, k, v, beta=None):
    scores = torch.einsum("bthd,bshd->bhts", q, k) * q.shape[-1] ** -0.5
    writing, reading = tril_softmax(scores), tril_softmax(scores, strict=False)
    corrected = v[:, :1]
    for t in range(1, v.shape[1]):
        held = torch.einsum("bhs,bshd->bhd", writing[:, :, t, :t], corrected)
        held = held if beta is None else beta[:, t, :, None] * held
        corrected = torch.cat([corrected, (v[:, t] - held).unsqueeze(1)], dim=1)
    return torch.einsum("bhts,bshd->bthd", reading, corrected)
