"""Rank of a very long document that alone holds all words of the query, once each, with BM25L and without its shift."""

import json

import numpy as np
from bm25l import BM25L

_CORPORA, _DOCUMENTS = 10, 18
_QUERY = ["red", "blue", "green"]


def _documents(generator: np.random.Generator, length: int) -> list[list[str]]:
    """One long document with all words of the query, and short ones with one of them, or none."""
    filler = [f"word{number}" for number in range(50)]
    long = [*generator.choice(filler, length), *_QUERY]
    short = [list(generator.choice(filler, int(generator.integers(15, 40)))) for _ in range(_DOCUMENTS)]
    for number, document in enumerate(short[: _DOCUMENTS * 2 // 3]):
        document += [_QUERY[number % len(_QUERY)]] * int(generator.integers(1, 4))
    return [[str(word) for word in document] for document in [long, *short]]


def run(seed: int = 0) -> dict[str, float]:
    """Reciprocal rank of the long document and its score over the best short one's, by length and delta."""
    generator = np.random.default_rng(seed)
    results = {}
    for length in (100, 1000):
        corpora = [_documents(generator, length) for _ in range(_CORPORA)]
        for delta in (0, 0.5):
            ranks, ratios = [], []
            for documents in corpora:
                scores = BM25L(documents, delta=delta).get_scores(_QUERY)
                # A margin, so that rounding does not decide which of two equal scores is the higher.
                ranks.append(1 / (1 + int(np.sum(scores[1:] > scores[0] + 1e-9))))
                ratios.append(scores[0] / scores[1:].max())
            results[f"{length} words/delta {delta}/reciprocal rank"] = float(np.mean(ranks))
            results[f"{length} words/delta {delta}/ratio"] = float(np.mean(ratios))
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
