"""Goes through pairs and tokens one by one."""

import math


def _average(tokens: Tensor, weights: list[float], others: Tensor) -> float:
    if not len(tokens) or not len(others) or sum(weights) == 0:
        return 0.0
    best = [max((others @ token).tolist()) for token in tokens]
    return math.fsum(w * b for w, b in zip(weights, best, strict=True)) / math.fsum(weights)


def greedy_cos_idf(
    ref_embedding: Tensor,
    ref_masks: Tensor,
    ref_idf: Tensor,
    hyp_embedding: Tensor,
    hyp_masks: Tensor,
    hyp_idf: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    rows = []
    for r_emb, r_mask, r_idf, h_emb, h_mask, h_idf in zip(
        ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf, strict=True
    ):
        reference = [i for i, present in enumerate(r_mask.tolist()) if present]
        candidate = [i for i, present in enumerate(h_mask.tolist()) if present]
        refs, hyps = (F.normalize(x.double(), dim=-1) for x in (r_emb[reference], h_emb[candidate]))
        precision = _average(hyps, [float(h_idf[i]) for i in candidate], refs)
        recall = _average(refs, [float(r_idf[i]) for i in reference], hyps)
        f = 2 * precision * recall / (precision + recall) if precision or recall else 0.0
        rows.append((precision, recall, f))
    return tuple(torch.tensor(rows, dtype=ref_embedding.dtype).reshape(-1, 3).T)
