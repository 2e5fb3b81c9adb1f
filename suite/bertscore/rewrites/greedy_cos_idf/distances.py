"""Finds the best match as the nearest neighbour on the unit sphere, pair by pair without padding."""


def _unit(vectors: Tensor) -> Tensor:
    lengths = vectors.pow(2).sum(dim=-1, keepdim=True).sqrt()
    return torch.where(lengths > 0, vectors / lengths, torch.zeros_like(vectors))


def greedy_cos_idf(
    ref_embedding: Tensor,
    ref_masks: Tensor,
    ref_idf: Tensor,
    hyp_embedding: Tensor,
    hyp_masks: Tensor,
    hyp_idf: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    precisions, recalls = [], []
    dtype = torch.promote_types(ref_embedding.dtype, torch.float32)
    for pair in range(len(ref_embedding)):
        reference, candidate = ref_masks[pair].bool(), hyp_masks[pair].bool()
        zero = torch.zeros((), dtype=dtype)
        precision, recall = zero, zero
        if reference.any() and candidate.any():
            refs = _unit(ref_embedding[pair][reference].to(dtype))
            hyps = _unit(hyp_embedding[pair][candidate].to(dtype))
            squares = hyps.pow(2).sum(dim=1)[:, None] + refs.pow(2).sum(dim=1)[None]
            distances = squares - 2 * hyps @ refs.T
            cosine = (squares - distances) / 2
            hyp_weights = hyp_idf[pair][candidate].to(dtype)
            ref_weights = ref_idf[pair][reference].to(dtype)
            if hyp_weights.sum() > 0:
                precision = cosine.max(dim=1).values @ (hyp_weights / hyp_weights.sum())
            if ref_weights.sum() > 0:
                recall = cosine.max(dim=0).values @ (ref_weights / ref_weights.sum())
        precisions.append(precision)
        recalls.append(recall)
    p, r = torch.stack(precisions), torch.stack(recalls)
    f = torch.where((p == 0) & (r == 0), torch.zeros_like(p), 2 / (1 / p + 1 / r))
    return tuple(score.to(ref_embedding.dtype) for score in (p, r, f))
