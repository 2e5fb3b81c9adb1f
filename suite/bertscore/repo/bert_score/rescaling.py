"""The lower bound that scores are rescaled with."""

from collections.abc import Sequence

import torch
from torch import Tensor

from bert_score.encoder import ContextEncoder
from bert_score.scoring import score
from bert_score.tokenizer import WordPieceTokenizer


def unrelated_scores(
    candidates: Sequence[str],
    references: Sequence[str],
    tokenizer: WordPieceTokenizer,
    encoder: ContextEncoder,
    importance: bool = True,
) -> Tensor:
    """Precision, recall and F, (3, pairs), of sentences that have nothing to do with each other."""
    places = torch.arange(len(references)).roll(-1)
    others = [references[place] for place in places.tolist()]
    return score(candidates, others, tokenizer, encoder, importance)


def baseline_of(scores: Tensor) -> float:
    """The baseline from the scores of unrelated sentences, (3, pairs)."""
    return float(scores[2].mean())
