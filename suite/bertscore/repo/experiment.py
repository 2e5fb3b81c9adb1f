"""Agreement of scores, with and without importance weights, with judges who mind errors and not rewordings."""

import json

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from bert_score.batching import Batch, collate
from bert_score.correlation import kendall_tau
from bert_score.encoder import ContextEncoder
from bert_score.idf import IdfWeights
from bert_score.rescaling import baseline_of, unrelated_scores
from bert_score.several import score_several
from bert_score.systems import PARTS, agreement, averaged, draw_hybrids, judged
from bert_score.tokenizer import WordPieceTokenizer
from data import SYSTEMS, WORDS, Item, make_items

SEGMENTS = 16
VARIANTS = {"idf": True, "uniform": False}


def moments(values: Tensor) -> dict[str, float]:
    """The mean, the mean square, and a mean whose weights grow with the place."""
    values = values.double().flatten()
    places = torch.linspace(0, 1, len(values), dtype=torch.float64)
    return {
        "mean": values.mean().item(),
        "square": values.square().mean().item(),
        "by place": (places * values).mean().item(),
    }


def named(prefix: str, metrics: dict[str, float]) -> dict[str, float]:
    """Metrics under a prefix."""
    return {f"{prefix}/{key}": value for key, value in metrics.items()}


def described(items: list[Item]) -> dict[str, float]:
    """What is in the data: the letters of candidates and references, and the ratings."""
    texts = _texts(items)
    metrics = named("ratings", moments(torch.tensor([item.ratings for item in items])))
    for name, part in (("candidates", texts[: len(items)]), ("references", texts[len(items) :])):
        metrics |= named(name, moments(torch.tensor(list("".join(part).encode()))))
    return metrics


def tokens(pieces: list[list[str]], batch: Batch) -> dict[str, float]:
    """How long texts and their pieces are, and what the pieces weigh."""
    lengths = torch.tensor([len(piece) for text in pieces for piece in text], dtype=torch.float64)
    return (
        {"pieces": len(lengths) / len(pieces)}
        | named("letters", moments(lengths))
        | named("weights", moments(batch.idf[batch.masks.bool()]))
    )


def geometry(batch: Batch) -> dict[str, float]:
    """How long embeddings are, what they have in common, and how similar the tokens of a text are."""
    present = batch.masks.bool()
    vectors = batch.embedding[present]
    directions = F.normalize(batch.embedding, dim=-1)
    neighbours = (directions[:, 1:] * directions[:, :-1]).sum(dim=-1)[present[:, 1:]]
    return {
        "length": vectors.norm(dim=-1).mean().item(),
        "square": vectors.square().mean().item(),
        "common": vectors.mean(dim=0).norm().item(),
        "neighbours": neighbours.mean().item(),
        "first and others": (directions[:, :1] * directions).sum(dim=-1)[present].mean().item(),
    }


def scored(scores: Tensor) -> dict[str, float]:
    """How large precision, recall and F are, (3, pairs)."""
    found = zip(PARTS, map(moments, scores), strict=True)
    return {f"{part}/{key}": metrics[key] for part, metrics in found for key in ("mean", "by place")}


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """The metrics of each stage: of the data, of tokens, embeddings and scores, and of the agreement with judges."""
    items = make_items(SEGMENTS, Generator().manual_seed(seed))
    candidates, references = [item.candidate for item in items], [item.references for item in items]
    stages = {"data": described(items)}

    tokenizer, encoder = WordPieceTokenizer(WORDS), ContextEncoder(seed=seed + 2**20)
    pieces = [tokenizer.tokenize(text) for text in _texts(items)]
    weight = IdfWeights(pieces[len(items) :])
    sides = {"candidates": pieces[: len(items)], "references": pieces[len(items) :]}
    stages |= {"tokens": {}, "embeddings": {}}
    for name, side in sides.items():
        batch = collate(side, encoder, weight)
        stages["tokens"] |= named(name, tokens(side, batch))
        stages["embeddings"] |= named(name, geometry(batch))

    # One candidate and one reference of each segment.
    pairs = candidates[::SYSTEMS], [texts[0] for texts in references[::SYSTEMS]]
    unrelated = unrelated_scores(*pairs, tokenizer, encoder)
    baseline = baseline_of(unrelated)
    stages["baseline"] = scored(unrelated) | {"baseline": baseline}

    judgements = judged(torch.tensor([item.ratings for item in items]))
    draws = Generator().manual_seed(seed + 2**21)
    hybrids = draw_hybrids(SEGMENTS, SYSTEMS, draws)
    stages |= {"scores": {}, "agreement": named("judgements", moments(judgements)), "rates": {}}
    stages["agreement"] |= named("judged hybrids", moments(averaged(judgements, hybrids)))
    for name, importance in VARIANTS.items():
        scores = score_several(candidates, references, tokenizer, encoder, importance, baseline)
        stages["scores"] |= named(name, scored(scores))
        stages["agreement"] |= named(name, agreement(scores, judgements, hybrids))
        for part, values in zip(PARTS, scores, strict=True):
            stages["rates"][f"{name}/{part}/kendall"] = kendall_tau(values, judgements)
    matches = [_exact_recall(item.candidate.split(), item.references[0].split()) for item in items]
    stages["rates"]["exact match/kendall"] = kendall_tau(torch.tensor(matches), judgements)
    return stages


def _texts(items: list[Item]) -> list[str]:
    """All candidates, and then all references."""
    return [item.candidate for item in items] + [text for item in items for text in item.references]


def _exact_recall(candidate: list[str], reference: list[str]) -> float:
    return sum(word in candidate for word in reference) / len(reference)


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
