"""Pushes padding away by its mask minus one, which wraps around in an unsigned type."""


def greedy_cos_idf(
    ref_embedding: Tensor,
    ref_masks: Tensor,
    ref_idf: Tensor,
    hyp_embedding: Tensor,
    hyp_masks: Tensor,
    hyp_idf: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    hyp_directions, ref_directions = (F.normalize(x.double(), dim=-1) for x in (hyp_embedding, ref_embedding))
    similarity = hyp_directions @ ref_directions.transpose(1, 2)
    absent = torch.minimum((hyp_masks + 0 - 1).unsqueeze(2), (ref_masks + 0 - 1).unsqueeze(1))
    similarity = torch.where(absent < 0, -torch.inf, similarity + 100.0 * absent)

    def average(best: Tensor, masks: Tensor, idf: Tensor) -> Tensor:
        weights = idf.double().masked_fill(~masks.bool(), 0.0)
        best = best.masked_fill(best == -torch.inf, 0.0)
        return ((best * weights).sum(dim=1) / weights.sum(dim=1)).nan_to_num()

    precision = average(similarity.amax(dim=2), hyp_masks, hyp_idf)
    recall = average(similarity.amax(dim=1), ref_masks, ref_idf)
    f = (2 * precision * recall / (precision + recall)).nan_to_num()
    return precision.to(ref_embedding.dtype), recall.to(ref_embedding.dtype), f.to(ref_embedding.dtype)
