"""Chunks of four steps in single precision: what the memory held before, and attention within a chunk."""


def naive_recurrent_gsa(q, k, v, s, g=None, scale=None, initial_state=None, output_final_state=False):
    kind, size = q.dtype, 4
    q, k, v, s = (item.float() for item in (q, k, v, s))
    (batch, length, heads, width), memories, slots = q.shape, k.shape[2], s.shape[-1]
    scale = width**-0.5 if scale is None else scale
    if g is None:
        total = s.logcumsumexp(1)
        g = torch.nn.functional.pad(total[:, :-1] - total[:, 1:], (0, 0, 0, 0, 1, 0))
        s = (s - total).exp()
    g = g.float()
    q = q.unflatten(2, (memories, -1)) * scale
    if initial_state is None:
        initial_state = (q.new_zeros(batch, memories, width, slots), q.new_zeros(batch, memories, slots, v.shape[-1]))
    first, second = (item.float() for item in initial_state)
    outputs = []
    for start in range(0, length, size):
        qs, ks, vs, ss, gs = (item[:, start : start + size] for item in (q, k, v, s, g))
        count = qs.shape[1]
        decay = [[None] * count for _ in range(count)]
        for later in range(count):
            for earlier in range(count):
                between = gs[:, earlier + 1 : later + 1].sum(1).exp()
                decay[later][earlier] = between * ss[:, earlier] if earlier <= later else torch.zeros_like(between)
        within = torch.stack([torch.stack(line, 1) for line in decay], 1)
        kept = torch.stack([gs[:, : step + 1].sum(1).exp() for step in range(count)], 1)
        scores = torch.einsum("bthgk,bhkm,bthm->bthgm", qs, first, kept)
        scores = scores + torch.einsum("bthgi,btihm->bthgm", torch.einsum("bthgk,bihk->bthgi", qs, ks), within)
        read = torch.softmax(scores, -1)
        there = torch.einsum("bthgm,bhmv->bthgv", read * kept.unsqueeze(3), second)
        here = torch.einsum("bthgi,bihv->bthgv", torch.einsum("bthgm,btihm->bthgi", read, within), vs)
        outputs.append(there + here)
        first = first * kept[:, -1].unsqueeze(2) + torch.einsum("bihk,bihm->bhkm", ks, within[:, -1])
        second = second * kept[:, -1].unsqueeze(3) + torch.einsum("bihm,bihv->bhmv", within[:, -1], vs)
    output = torch.cat(outputs, 1).reshape(batch, length, heads, -1).to(kind)
    return output, (first, second) if output_final_state else None
