"""Weights each token by the importance of the one that it matches."""


def greedy_cos_idf(
    ref_embedding: Tensor,
    ref_masks: Tensor,
    ref_idf: Tensor,
    hyp_embedding: Tensor,
    hyp_masks: Tensor,
    hyp_idf: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    similarity = F.normalize(hyp_embedding, dim=-1) @ F.normalize(ref_embedding, dim=-1).transpose(1, 2)
    tokens = hyp_masks.bool().unsqueeze(2) & ref_masks.bool().unsqueeze(1)
    similarity = similarity.masked_fill(~tokens, -torch.inf)

    def average(best: Tensor, masks: Tensor, idf: Tensor) -> Tensor:
        weights = idf.masked_fill(~masks.bool(), 0.0)
        best = best.masked_fill(best == -torch.inf, 0.0)
        return ((best * weights).sum(dim=1) / weights.sum(dim=1)).nan_to_num().to(best.dtype)

    precision = average(similarity.amax(dim=2), hyp_masks, ref_idf.gather(1, similarity.argmax(dim=2)))
    recall = average(similarity.amax(dim=1), ref_masks, hyp_idf.gather(1, similarity.argmax(dim=1)))
    return precision, recall, (2 * precision * recall / (precision + recall)).nan_to_num(nan=0.0)
