"""Agreement of variants of the metric with judges who mind errors and not rewordings."""

import json

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from data import MEANINGS, PIECES, STOP_WORDS, Item, make_items
from moverscore.batching import Batch, collate
from moverscore.correlation import judged, pearson, unigram_overlap
from moverscore.encoder import EncoderConfig, TinyEncoder
from moverscore.idf import IdfWeights
from moverscore.score import ScoreConfig, score_texts
from moverscore.tokenizer import WordPieceTokenizer

TEXTS = 6
# More words than any text has: an n-gram of this size is a sentence.
SENTENCE = 50
VARIANTS = {
    "wmd_1": (ScoreConfig(stop_words=STOP_WORDS), False),
    "wmd_1_static": (ScoreConfig(stop_words=STOP_WORDS), True),
    "wmd_2": (ScoreConfig(n_gram=2, remove_subwords=False), False),
    "smd": (ScoreConfig(n_gram=SENTENCE, stop_words=STOP_WORDS), False),
}
# The hidden states that are described: the word vectors, a middle layer and the last one.
LAYERS = (0, 4, 8)


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
    """What is in the data: the letters of references and system texts, and the ratings."""
    letters = {
        name: torch.tensor([ord(letter) for item in items for letter in getattr(item, name)])
        for name in ("reference", "hypothesis")
    }
    ratings = torch.tensor([item.ratings for item in items])
    return {
        f"{name}/{key}": value
        for name, values in (letters | {"ratings": ratings}).items()
        for key, value in moments(values).items()
    }


def tokens(batch: Batch) -> dict[str, float]:
    """How long texts and their pieces are, and what the pieces weigh."""
    letters = torch.tensor([len(token) for text in batch.tokens for token in text], dtype=torch.float64)
    weights = torch.cat([row[: len(text)] for row, text in zip(batch.idf, batch.tokens, strict=True)])
    return (
        {"pieces": len(letters) / len(batch.tokens)}
        | named("letters", moments(letters))
        | named("idf", moments(weights))
    )


def hidden_states(batch: Batch) -> dict[str, float]:
    """How large the states of some layers are, and how similar those of neighbours in a text are."""
    found = {}
    for layer in LAYERS:
        texts = [states[: len(text)] for states, text in zip(batch.embedding[layer], batch.tokens, strict=True)]
        near = [F.cosine_similarity(states[1:], states[:-1], dim=-1).mean() for states in texts]
        found |= named(f"layer {layer}", {"square": torch.cat(texts).square().mean().item()})
        found |= named(f"layer {layer}", {"neighbours": torch.stack(near).mean().item()})
    return found


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """The metrics of each stage: of texts, tokens and hidden states, of scores, and of the agreement with judges."""
    items = make_items(TEXTS, Generator().manual_seed(seed))
    references, hypotheses = [item.reference for item in items], [item.hypothesis for item in items]
    stages = {"data": described(items), "tokens": {}, "hidden states": {}, "words": {}, "n-grams": {}}

    tokenizer = WordPieceTokenizer(PIECES)
    encoder = TinyEncoder(tokenizer, MEANINGS, EncoderConfig(), seed + 2**20)
    for name, texts in (("references", references), ("hypotheses", hypotheses)):
        pieces = [tokenizer.tokenize(text) for text in texts]
        batch = collate(pieces, encoder, IdfWeights(pieces))
        stages["tokens"] |= named(name, tokens(batch))
        stages["hidden states"] |= named(name, hidden_states(batch))

    judgements = judged(torch.tensor([item.ratings for item in items]))
    overlaps = [unigram_overlap(*texts) for texts in zip(references, hypotheses, strict=True)]
    stages["agreement"] = named("judgements", moments(judgements))
    stages["agreement"]["overlap"] = pearson(overlaps, judgements.tolist())
    stages["rates"] = {}
    for name, (config, static) in VARIANTS.items():
        scores = score_texts(references, hypotheses, tokenizer, encoder, config, static)
        stages["words" if config.n_gram == 1 else "n-grams"] |= named(name, moments(torch.tensor(scores)))
        stages["agreement"][name] = pearson(scores, judgements.tolist())
        stages["rates"][f"{name}/spearman"] = pearson(_ranks(scores), _ranks(judgements.tolist()))
    return stages


def _ranks(values: list[float]) -> list[float]:
    order = sorted(values)
    return [float(order.index(value)) for value in values]


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
