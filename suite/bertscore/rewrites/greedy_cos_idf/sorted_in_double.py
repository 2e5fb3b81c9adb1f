"""Works in numpy and double precision, each side scaled by its largest value, and sorts to find the best matches."""

import numpy as np


def _side(embedding, masks, idf):
    present = masks.double().numpy() != 0
    vectors = np.where(present[..., None], embedding.double().numpy(), 0.0)
    largest = np.abs(vectors).max(axis=-1, keepdims=True)
    vectors = np.divide(vectors, largest, out=np.zeros_like(vectors), where=largest > 0)
    lengths = np.sqrt(np.square(vectors).sum(axis=-1, keepdims=True))
    vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return vectors, present, np.where(present, idf.double().numpy(), 0.0)


def _ratio(above, below):
    return np.divide(above, below, out=np.zeros_like(above), where=below != 0)


def greedy_cos_idf(
    ref_embedding: Tensor,
    ref_masks: Tensor,
    ref_idf: Tensor,
    hyp_embedding: Tensor,
    hyp_masks: Tensor,
    hyp_idf: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    ref, ref_present, ref_weights = _side(ref_embedding, ref_masks, ref_idf)
    hyp, hyp_present, hyp_weights = _side(hyp_embedding, hyp_masks, hyp_idf)
    cosines = np.where(ref_present[:, None] & hyp_present[:, :, None], hyp @ ref.swapaxes(1, 2), -2.0)
    both = ref_present.any(axis=1) & hyp_present.any(axis=1)
    scores = []
    for axis, weights in ((2, hyp_weights), (1, ref_weights)):
        best = np.sort(cosines, axis=axis).take(-1, axis=axis)
        scores.append(np.where(both, _ratio((best * weights).sum(axis=1), weights.sum(axis=1)), 0.0))
    precision, recall = scores
    scores.append(_ratio(2 * precision * recall, precision + recall))
    return tuple(torch.from_numpy(score).to(ref_embedding.dtype) for score in scores)
