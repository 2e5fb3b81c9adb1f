"""Precision, recall and F of candidates against their references."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from bert_score.batching import collate
from bert_score.encoder import ContextEncoder
from bert_score.idf import IdfWeights, uniform
from bert_score.tokenizer import WordPieceTokenizer


def greedy_cos_idf(
    ref_embedding: Tensor,
    ref_masks: Tensor,
    ref_idf: Tensor,
    hyp_embedding: Tensor,
    hyp_masks: Tensor,
    hyp_idf: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """BERTScore of each pair of a batch (section 3).

    ref_embedding: token embeddings of the references, without gradients, (batch, reference length, width).
    hyp_embedding: those of the candidates, (batch, candidate length, width); all sizes are at least 1.
    ref_masks, hyp_masks: 1 for a token, 0 for padding, (batch, length).
    ref_idf, hyp_idf: importance weights, at least 0, (batch, length).

    Returns precision, recall and F, each of shape (batch,).
    """
    # In double precision: half precision has too few digits, and no range for squares of lengths.
    hyp_directions, ref_directions = (F.normalize(x.double(), dim=-1) for x in (hyp_embedding, ref_embedding))
    similarity = hyp_directions @ ref_directions.transpose(1, 2)
    tokens = hyp_masks.bool().unsqueeze(2) & ref_masks.bool().unsqueeze(1)
    similarity = similarity.masked_fill(~tokens, -torch.inf)

    def average(best: Tensor, masks: Tensor, idf: Tensor) -> Tensor:
        weights = idf.double().masked_fill(~masks.bool(), 0.0)
        best = best.masked_fill(best == -torch.inf, 0.0)
        return ((best * weights).sum(dim=1) / weights.sum(dim=1)).nan_to_num()

    precision = average(similarity.amax(dim=2), hyp_masks, hyp_idf)
    recall = average(similarity.amax(dim=1), ref_masks, ref_idf)
    f = (2 * precision * recall / (precision + recall)).nan_to_num()
    return precision.to(ref_embedding.dtype), recall.to(ref_embedding.dtype), f.to(ref_embedding.dtype)


def score(
    candidates: Sequence[str],
    references: Sequence[str],
    tokenizer: WordPieceTokenizer,
    encoder: ContextEncoder,
    importance: bool = True,
    baseline: float = 0.0,
) -> Tensor:
    """Precision, recall and F of each candidate, (3, pairs), rescaled so that `baseline` becomes 0 (section 3)."""
    tokenized = [tokenizer.tokenize(text) for text in references]
    weight = IdfWeights(tokenized) if importance else uniform
    reference = collate(tokenized, encoder, weight)
    candidate = collate([tokenizer.tokenize(text) for text in candidates], encoder, weight)
    scores = torch.stack(greedy_cos_idf(*reference, *candidate))
    return (scores - baseline) / (1 - baseline)
