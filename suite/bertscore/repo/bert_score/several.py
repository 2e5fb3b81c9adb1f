"""Scores against several references."""

from collections.abc import Sequence

import torch
from torch import Tensor

from bert_score.encoder import ContextEncoder
from bert_score.scoring import score
from bert_score.tokenizer import WordPieceTokenizer


def score_several(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    tokenizer: WordPieceTokenizer,
    encoder: ContextEncoder,
    importance: bool = True,
    baseline: float = 0.0,
) -> Tensor:
    """Precision, recall and F of each candidate against its references, (3, candidates): the best reference counts.

    All candidates have the same number of references.
    """
    number = len(references[0])
    repeated = [text for text in candidates for _ in range(number)]
    flat = [text for texts in references for text in texts]
    scores = score(repeated, flat, tokenizer, encoder, importance, baseline)
    return torch.amax(scores.unflatten(1, (-1, number)), dim=-1)
