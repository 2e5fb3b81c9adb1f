"""Edge: Forms F of sums that are not divided yet, whose products overflow half precision."""


def _unit(embedding: Tensor, valid: Tensor) -> Tensor:
    """Tokens at length 1; padding and zero vectors as zeros."""
    embedding = embedding.masked_fill(~valid.unsqueeze(2), 0)
    length = embedding.norm(dim=2, keepdim=True)
    return embedding / length.masked_fill(length == 0, 1)


def _sums(best: Tensor, weight: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
    """Weighted sum of the best matches, and sum of the weights."""
    weight = weight.masked_fill(~valid, 0)
    return (weight * best.masked_fill(~valid, 0)).sum(dim=1), weight.sum(dim=1)


def greedy_cos_idf(
    ref_embedding: Tensor,
    ref_masks: Tensor,
    ref_idf: Tensor,
    hyp_embedding: Tensor,
    hyp_masks: Tensor,
    hyp_idf: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    ref_valid, hyp_valid = ref_masks.bool(), hyp_masks.bool()
    similarity = torch.bmm(_unit(ref_embedding, ref_valid), _unit(hyp_embedding, hyp_valid).transpose(1, 2))
    similarity = similarity.masked_fill(~(ref_valid.unsqueeze(2) & hyp_valid.unsqueeze(1)), float("-inf"))
    both = (ref_valid.any(dim=1) & hyp_valid.any(dim=1)).unsqueeze(1)
    found, ref_total = _sums(similarity.amax(dim=2), ref_idf, ref_valid & both)
    backed, hyp_total = _sums(similarity.amax(dim=1), hyp_idf, hyp_valid & both)
    # 2PR / (P + R) with both fractions cleared: one division, one rounding.
    bottom = backed * ref_total + found * hyp_total
    nothing = (backed == 0) | (found == 0)
    f = (2 * backed * found / bottom.masked_fill(nothing, 1)).masked_fill(nothing, 0)
    return backed / hyp_total.masked_fill(hyp_total == 0, 1), found / ref_total.masked_fill(ref_total == 0, 1), f
