"""Decoding with caches of keys and corrected values, in double precision; a softmax over what is there, row by row."""


def tril_softmax(scores, strict=True):
    rows = []
    for i in range(scores.shape[-1]):
        seen = i if strict else i + 1
        weights = torch.softmax(scores[..., i, :seen], dim=-1)
        rows.append(torch.cat([weights, torch.zeros_like(scores[..., i, seen:])], dim=-1))
    return torch.stack(rows, dim=-2)


def naive_deltaformer_attn(q, k, v, beta=None):
    for item in (q, k, v):
        if item.dim() != 4 or item.shape != q.shape:
            raise AssertionError("shapes")
    if beta is not None and tuple(beta.shape) != tuple(q.shape[:3]):
        raise AssertionError("strengths")
    kind = q.dtype
    query = q.double().transpose(1, 2) / q.shape[-1] ** 0.5
    key, value = k.double().transpose(1, 2), v.double().transpose(1, 2)
    strengths = None if beta is None else beta.double().transpose(1, 2)
    stored, outputs = value[:, :, :0], []
    for t in range(q.shape[1]):
        asked = (query[:, :, t : t + 1] * key[:, :, : t + 1]).sum(-1)
        new = value[:, :, t]
        if t:
            held = (asked[..., :t].softmax(-1).unsqueeze(-1) * stored).sum(-2)
            new = new - (held if strengths is None else strengths[:, :, t, None] * held)
        stored = torch.cat([stored, new.unsqueeze(-2)], dim=-2)
        outputs.append((asked.softmax(-1).unsqueeze(-1) * stored).sum(-2))
    return torch.stack(outputs, dim=1).to(kind)
