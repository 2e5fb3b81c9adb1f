"""Scales each sentence by its largest entry before squares are taken, and so loses its short embeddings."""


def greedy_cos_idf(
    ref_embedding: Tensor,
    ref_masks: Tensor,
    ref_idf: Tensor,
    hyp_embedding: Tensor,
    hyp_masks: Tensor,
    hyp_idf: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    def directions(x: Tensor, masks: Tensor) -> Tensor:
        x = x.to(torch.promote_types(x.dtype, torch.float32)).masked_fill(~masks.bool().unsqueeze(2), 0.0)
        largest = x.abs().amax(dim=(1, 2), keepdim=True)
        return F.normalize(x / torch.where(largest == 0, 1.0, largest), dim=-1)

    hyp_directions, ref_directions = directions(hyp_embedding, hyp_masks), directions(ref_embedding, ref_masks)
    similarity = hyp_directions @ ref_directions.transpose(1, 2)
    tokens = hyp_masks.bool().unsqueeze(2) & ref_masks.bool().unsqueeze(1)
    similarity = similarity.masked_fill(~tokens, -torch.inf)

    def average(best: Tensor, masks: Tensor, idf: Tensor) -> Tensor:
        weights = idf.double().masked_fill(~masks.bool(), 0.0)
        best = best.double().masked_fill(best == -torch.inf, 0.0)
        return ((best * weights).sum(dim=1) / weights.sum(dim=1)).nan_to_num()

    precision = average(similarity.amax(dim=2), hyp_masks, hyp_idf)
    recall = average(similarity.amax(dim=1), ref_masks, ref_idf)
    f = (2 * precision * recall / (precision + recall)).nan_to_num()
    return precision.to(ref_embedding.dtype), recall.to(ref_embedding.dtype), f.to(ref_embedding.dtype)
