"""No recurrence: decays between all pairs of steps, in double precision, and two weighted sums."""


def naive_recurrent_gsa(q, k, v, s, g=None, scale=None, initial_state=None, output_final_state=False):
    kind, groups = q.dtype, q.shape[2] // k.shape[2]
    q, k, v, s = (item.double() for item in (q, k, v, s))
    length = q.shape[1]
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    past = torch.ones(length, length, dtype=torch.bool).tril()[None, :, :, None, None]
    # written[b, t, i, h, m]: what is left at step t of what step i has written to a slot.
    if g is None:
        logits = s.unsqueeze(1).expand(-1, length, -1, -1, -1).masked_fill(~past, float("-inf"))
        written = logits.softmax(2)
        total = torch.logcumsumexp(s, 1)
        kept = (total[:, :1] - total).exp()
    else:
        total = g.double().cumsum(1)
        apart = total.unsqueeze(2) - total.unsqueeze(1)
        written = apart.masked_fill(~past, float("-inf")).exp() * s.unsqueeze(1)
        kept = total.exp()
    q = q.unflatten(2, (k.shape[2], groups)) * scale
    scores = torch.einsum("bthgk,bihk,btihm->bthgm", q, k, written)
    if initial_state is not None:
        first, second = (item.double() for item in initial_state)
        scores = scores + torch.einsum("bthgk,bhkm,bthm->bthgm", q, first, kept)
    read = scores.softmax(-1)
    output = torch.einsum("bthgm,btihm,bihv->bthgv", read, written, v)
    if initial_state is not None:
        output = output + torch.einsum("bthgm,bthm,bhmv->bthgv", read, kept, second)
    final = None
    if output_final_state:
        keys = torch.einsum("bihk,bihm->bhkm", k, written[:, -1])
        values = torch.einsum("bihm,bihv->bhmv", written[:, -1], v)
        if initial_state is not None:
            keys = keys + first * kept[:, -1].unsqueeze(-2)
            values = values + second * kept[:, -1].unsqueeze(-1)
        final = keys.float(), values.float()
    return output.flatten(2, 3).to(kind), final
