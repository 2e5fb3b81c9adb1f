"""Divides inner products by the norms, and shifts padding below every similarity instead of filling it."""


def greedy_cos_idf(
    ref_embedding: Tensor,
    ref_masks: Tensor,
    ref_idf: Tensor,
    hyp_embedding: Tensor,
    hyp_masks: Tensor,
    hyp_idf: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    given, working = ref_embedding.dtype, torch.promote_types(ref_embedding.dtype, torch.float32)
    ref_embedding, hyp_embedding = (
        x.to(working).masked_fill(masks.unsqueeze(2) == 0, 0)
        for x, masks in ((ref_embedding, ref_masks), (hyp_embedding, hyp_masks))
    )
    inner = torch.einsum("bhd,brd->bhr", hyp_embedding, ref_embedding)
    norms = torch.einsum("bh,br->bhr", hyp_embedding.norm(dim=2), ref_embedding.norm(dim=2))
    similarity = inner / norms.where(norms > 0, torch.ones_like(norms))
    ref_present, hyp_present = ref_masks.to(inner.dtype), hyp_masks.to(inner.dtype)
    for_hyp, _ = (similarity - 4 * (1 - ref_present).unsqueeze(1)).max(dim=2)
    for_ref, _ = (similarity - 4 * (1 - hyp_present).unsqueeze(2)).max(dim=1)
    both = ref_present.amax(dim=1) * hyp_present.amax(dim=1)

    def weigh(best, weights):
        total = torch.einsum("bn->b", weights)
        return both * torch.einsum("bn,bn->b", best, weights) / torch.where(total == 0, 1.0, total)

    hyp_weights, ref_weights = (
        idf.masked_fill(masks == 0, 0).to(inner.dtype) for idf, masks in ((hyp_idf, hyp_masks), (ref_idf, ref_masks))
    )
    p, r = weigh(for_hyp, hyp_weights), weigh(for_ref, ref_weights)
    total = p + r
    f = torch.where(total == 0, 0.0, 2 * p * r / torch.where(total == 0, 1.0, total))
    return p.to(given), r.to(given), f.to(given)
