"""At which rank is a very long document found that alone holds all words of the query?"""

import json

import numpy as np
from rank_bm25 import BM25Plus

_QUERIES, _DOCUMENTS = 12, 24
_QUERY = ["red", "blue", "green"]


def _documents(generator: np.random.Generator) -> list[list[str]]:
    """One long document with all words of the query, and short ones with one of them, or none."""
    filler = [f"word{number}" for number in range(50)]
    long = [*generator.choice(filler, int(generator.integers(600, 1500))), *_QUERY]
    short = [list(generator.choice(filler, int(generator.integers(15, 40)))) for _ in range(_DOCUMENTS)]
    for number, document in enumerate(short[: _DOCUMENTS * 2 // 3]):
        document += [_QUERY[number % len(_QUERY)]] * int(generator.integers(1, 4))
    return [[str(word) for word in document] for document in [long, *short]]


def _where_absent(index: BM25Plus, query: list[str]) -> np.ndarray:
    """What delta adds to each document for words that it does not hold."""
    absent = [sum(index.idf[word] for word in query if word not in document) for document in index.doc_freqs]
    return index.delta * np.array(absent)


def run(seed: int = 0) -> dict[str, float]:
    """Mean reciprocal rank of the long document, and its lead over the best short one."""
    generator = np.random.default_rng(seed)
    ranks = {"package": [], "without delta": [], "delta where words occur": []}
    leads = {name: [] for name in ranks}
    for _ in range(_QUERIES):
        documents = _documents(generator)
        index = BM25Plus(documents)
        scores = index.get_scores(_QUERY)
        found = {
            "package": scores,
            "without delta": BM25Plus(documents, delta=0).get_scores(_QUERY),
            "delta where words occur": scores - _where_absent(index, _QUERY),
        }
        for name, values in found.items():
            # A margin, so that rounding does not decide which of two equal scores is the higher.
            ranks[name].append(1 / (1 + int(np.sum(values[1:] > values[0] + 1e-9))))
            leads[name].append(values[0] - values[1:].max())
    return {f"{name}/reciprocal rank": float(np.mean(values)) for name, values in ranks.items()} | {
        f"{name}/lead": float(np.mean(values)) for name, values in leads.items()
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
