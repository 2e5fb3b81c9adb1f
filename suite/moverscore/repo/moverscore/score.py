"""MoverScore of system texts against their references."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from moverscore.batching import collate
from moverscore.encoder import TinyEncoder
from moverscore.idf import IdfWeights
from moverscore.tokenizer import CONTINUATION, MARKERS, PUNCTUATION, WordPieceTokenizer
from moverscore.transport import optimal_flow


@dataclass(frozen=True)
class ScoreConfig:
    """A variant of the metric."""

    n_gram: int = 1
    stop_words: frozenset[str] = frozenset()
    remove_subwords: bool = True
    batch_size: int = 16


def word_mover_score(
    ref_embedding: Tensor,
    ref_idf: Tensor,
    ref_tokens: Sequence[Sequence[str]],
    hyp_embedding: Tensor,
    hyp_idf: Tensor,
    hyp_tokens: Sequence[Sequence[str]],
    n_gram: int = 1,
    stop_words: Collection[str] = (),
    remove_subwords: bool = True,
) -> list[float]:
    """Word mover scores of a batch of system texts, each against its reference (section 3).

    Args:
        ref_embedding: hidden states of the references, without gradients, (layers, batch, reference length, width).
        ref_idf: inverse document frequencies of their tokens, at least 0, (batch, reference length).
        ref_tokens: the references' tokens, one list for each text, not padded.
        hyp_embedding: those of the system texts, (layers, batch, system length, width).
        hyp_idf: inverse document frequencies of their tokens, at least 0, (batch, system length).
        hyp_tokens: the system texts' tokens.
        n_gram: the number of words in an n-gram, at least 1.
        stop_words: tokens that are left out.
        remove_subwords: leave out the pieces that continue a word.

    Returns:
        A score for each pair.
    """

    def n_grams(layers: Tensor, idf: Tensor, tokens: Sequence[str]) -> tuple[Tensor, Tensor]:
        # Unit vectors, (n-grams, 3 * width), and weights, (n-grams,), of one text.
        left_out = {*MARKERS, *PUNCTUATION, *stop_words}
        kept = [
            place
            for place, token in enumerate(tokens)
            if token not in left_out and not (remove_subwords and token.startswith(CONTINUATION))
        ]
        layers, idf = layers[-5:, kept].double(), idf[kept].double()
        words = torch.cat([layers.amin(dim=0), layers.mean(dim=0), layers.amax(dim=0)], dim=-1)
        # A text of fewer words than n is one n-gram, and a text of none is one n-gram without weight.
        size = min(n_gram, len(kept))
        vectors = (idf.unsqueeze(1) * words).unfold(0, size, 1).sum(dim=-1)
        return F.normalize(vectors, dim=-1), idf.unfold(0, size, 1).sum(dim=-1)

    scores = []
    for row in range(len(ref_tokens)):
        ref_vectors, ref_weights = n_grams(ref_embedding[:, row], ref_idf[row], ref_tokens[row])
        hyp_vectors, hyp_weights = n_grams(hyp_embedding[:, row], hyp_idf[row], hyp_tokens[row])
        if ref_weights.sum() == 0 or hyp_weights.sum() == 0:
            scores.append(0.0)
            continue
        cost = torch.cdist(hyp_vectors, ref_vectors)
        flow = optimal_flow(hyp_weights / hyp_weights.sum(), ref_weights / ref_weights.sum(), cost)
        scores.append(1 - float((cost * flow).sum()))
    return scores


def score_texts(
    references: Sequence[str],
    hypotheses: Sequence[str],
    tokenizer: WordPieceTokenizer,
    encoder: TinyEncoder,
    config: ScoreConfig,
    static: bool = False,
) -> list[float]:
    """Scores of system texts against their references; with `static` over word vectors that know no context.

    The frequencies are counted among the references for the references, and among the system texts for these.
    """
    sides = [[tokenizer.tokenize(text) for text in texts] for texts in (references, hypotheses)]
    weights = [IdfWeights(side) for side in sides]
    scores = []
    for start in range(0, len(references), config.batch_size):
        ref, hyp = (
            collate(side[start : start + config.batch_size], encoder, weight)
            for side, weight in zip(sides, weights, strict=True)
        )
        if static:
            ref, hyp = ref._replace(embedding=ref.embedding[:1]), hyp._replace(embedding=hyp.embedding[:1])
        scores += word_mover_score(*ref, *hyp, config.n_gram, config.stop_words, config.remove_subwords)
    return scores
