"""Turns the counts round only where their shape is not yet that of the queries."""


def nsa(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g_slc: Tensor,
    g_swa: Tensor | None,
    block_indices: Tensor,
    block_counts: Tensor | int | None = None,
    block_size: int = 64,
    window_size: int = 0,
    scale: float | None = None,
    cu_seqlens: Tensor | None = None,
    head_first: bool = False,
) -> Tensor:

    def turned(item: Tensor | int | None) -> Tensor | int | None:
        return item.transpose(1, 2) if head_first and isinstance(item, Tensor) else item

    q, k, v = turned(q), turned(k), turned(v)
    g_slc, g_swa = turned(g_slc), turned(g_swa)
    block_indices = turned(block_indices)
    if isinstance(block_counts, Tensor) and block_counts.shape != block_indices.shape[:3]:
        block_counts = turned(block_counts)
    if cu_seqlens is not None and len(q) > 1:
        raise ValueError(f"{len(q)}")
    bounds = [0] if cu_seqlens is None else cu_seqlens.tolist()
    places = torch.arange(q.shape[1])
    starts = torch.tensor([max(bound for bound in bounds if bound <= place) for place in places])
    back = places[:, None] - places
    past = (starts[:, None] == starts) & (back >= 0)

    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = torch.einsum("bthgk,bnhk->bthgn", group_heads(q.float(), k.shape[2]), k.float()) * scale

    def attend(seen: Tensor, gate: Tensor) -> Tensor:
        heads = torch.einsum("bthgn,bnhv->bthgv", masked_softmax(scores, seen), v.float())
        return heads.flatten(2, 3) * gate[..., None]

    listed = block_indices[..., None] == (places - starts) // block_size
    if isinstance(block_counts, Tensor):
        block_counts = block_counts[..., None, None]
    if block_counts is not None:
        listed = listed & (torch.arange(listed.shape[-2])[:, None] < block_counts)
    seen = listed.any(dim=-2) & past[:, None]
    result = attend(seen[:, :, :, None], g_slc)
    if window_size > 0:
        result = result + attend((past & (back < window_size))[:, None, None], g_swa)
    return turned(result.to(q.dtype))
