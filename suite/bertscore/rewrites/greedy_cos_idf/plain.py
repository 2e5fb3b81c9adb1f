"""The formulas of the paper, with padding below every similarity."""


def greedy_cos_idf(
    ref_embedding: Tensor,
    ref_masks: Tensor,
    ref_idf: Tensor,
    hyp_embedding: Tensor,
    hyp_masks: Tensor,
    hyp_idf: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    similarity = F.normalize(hyp_embedding, dim=-1) @ F.normalize(ref_embedding, dim=-1).transpose(1, 2)
    hyp_best = similarity.masked_fill(ref_masks[:, None] == 0, -2).amax(dim=2)
    ref_best = similarity.masked_fill(hyp_masks[:, :, None] == 0, -2).amax(dim=1)
    hyp_weights, ref_weights = hyp_idf * hyp_masks, ref_idf * ref_masks
    precision = (hyp_best * hyp_weights).sum(dim=1) / hyp_weights.sum(dim=1)
    recall = (ref_best * ref_weights).sum(dim=1) / ref_weights.sum(dim=1)
    return precision, recall, 2 * precision * recall / (precision + recall)
