"""Rank of a very long document that alone holds all words of the query, with and without delta."""

import json

import numpy as np
from bm25plus import BM25Plus

_CORPORA, _DOCUMENTS = 10, 18
_QUERY = ["red", "blue", "green"]


def _documents(generator: np.random.Generator) -> list[list[str]]:
    """One long document with all words of the query, and short ones with one of them, or none."""
    filler = [f"word{number}" for number in range(50)]
    long = [*generator.choice(filler, int(generator.integers(600, 1500))), *_QUERY]
    short = [list(generator.choice(filler, int(generator.integers(15, 40)))) for _ in range(_DOCUMENTS)]
    for number, document in enumerate(short[: _DOCUMENTS * 2 // 3]):
        document += [_QUERY[number % len(_QUERY)]] * int(generator.integers(1, 4))
    return [[str(word) for word in document] for document in [long, *short]]


def run(seed: int = 0) -> dict[str, float]:
    """Mean reciprocal rank of the long document, and its lead over the best short one."""
    generator = np.random.default_rng(seed)
    corpora = [_documents(generator) for _ in range(_CORPORA)]
    results = {}
    for name, delta in {"BM25+": 1, "without delta": 0}.items():
        ranks, leads = [], []
        for documents in corpora:
            scores = BM25Plus(documents, delta=delta).get_scores(_QUERY)
            # A margin, so that rounding does not decide which of two equal scores is the higher.
            ranks.append(1 / (1 + int(np.sum(scores[1:] > scores[0] + 1e-9))))
            leads.append(scores[0] - scores[1:].max())
        results[f"{name}/reciprocal rank"] = float(np.mean(ranks))
        results[f"{name}/lead"] = float(np.mean(leads))
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
