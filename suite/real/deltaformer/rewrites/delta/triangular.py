"""One triangular system for all corrected values; both softmaxes by masks that are added."""


def _masked(scores, diagonal):
    steps = scores.shape[-1]
    ahead = torch.ones(steps, steps, dtype=torch.bool).triu(diagonal)
    return scores.masked_fill(ahead, -torch.inf)


def tril_softmax(scores, strict=True):
    if not strict:
        return _masked(scores, 1).softmax(-1)
    lower = _masked(scores, 0)[..., 1:, :]
    return torch.cat([torch.zeros_like(scores[..., :1, :]), lower.softmax(-1)], dim=-2)


def naive_deltaformer_attn(q, k, v, beta=None):
    assert q.ndim == k.ndim == v.ndim == 4
    assert q.shape == k.shape == v.shape
    assert beta is None or beta.shape == q.shape[:3]
    steps, width = q.shape[1], q.shape[3]
    query, key, value = (item.float().transpose(1, 2) for item in (q, k, v))
    scores = query @ key.mT * width**-0.5
    taken = tril_softmax(scores)
    if beta is not None:
        taken = taken * beta.float().transpose(1, 2).unsqueeze(-1)
    system = torch.eye(steps) + taken
    corrected = torch.linalg.solve_triangular(system, value, upper=False, unitriangular=True)
    return (tril_softmax(scores, strict=False) @ corrected).transpose(1, 2).to(q.dtype)
