"""A share is what is left of the stick before a key less what is left after it, in double precision."""


def naive_stickbreaking_attn(q, k, v, scale=None, attend_current=False):
    for fits in (
        tuple(q.shape[:2]) == tuple(k.shape[:2]),
        tuple(k.shape[:3]) == tuple(v.shape[:3]),
        q.size(-1) == k.size(-1),
        q.size(2) % k.size(2) == 0,
    ):
        if not fits:
            raise ValueError("the inputs do not fit")
    queries = q.to(torch.float64).unflatten(2, (k.size(2), -1))
    if scale is None:
        scale = 1 / q.size(-1) ** 0.5
    logits = scale * torch.einsum("bihgd,bjhd->bhgij", queries, k.to(torch.float64))
    place = torch.arange(q.size(1))
    seen = place[:, None] + int(bool(attend_current)) > place
    broken = torch.where(seen, -F.logsigmoid(-logits), torch.zeros((), dtype=torch.float64))
    # after[j]: the cost of all keys that a query sees from j on; one more entry for none.
    after = F.pad(broken.flip(-1).cumsum(-1).flip(-1), (0, 1))
    left = torch.exp(-after)
    # expm1 keeps small differences exact.
    shares = left[..., 1:] * -torch.expm1(-broken)
    output = torch.einsum("bhgij,bjhv->bihgv", shares, v.to(torch.float64)).flatten(2, 3)
    rest = left[..., 0].permute(0, 3, 1, 2).flatten(2, 3)
    return output.to(q.dtype), rest.to(q.dtype)
