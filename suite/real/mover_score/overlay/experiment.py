"""How do scores fall when words are replaced, left out or shuffled, for words, pairs of words and whole sentences?"""

import json
import random
from collections import defaultdict

import moverscore

_LETTERS = "abdegiklmnoprstu"
_COMMON = ["the", "of", "to", "and", "in", "is"]
_SENTENCES = 2


def _sentence(generator: random.Random, words: list[str]) -> list[str]:
    return [generator.choice(_COMMON if place % 3 == 0 else words) for place in range(generator.randint(5, 10))]


def _spoilt(generator: random.Random, way: str, sentence: list[str], words: list[str]) -> list[str]:
    if way == "shuffled":
        return generator.sample(sentence, len(sentence))
    if way == "common words left out":
        return [word for word in sentence if word not in _COMMON]
    share = float(way.split()[0])
    return [generator.choice(words) if generator.random() < share else word for word in sentence]


def run(seed: int = 0) -> dict[str, float]:
    """Mean scores, by what is spoilt, by size of n-grams and by weights."""
    moverscore.device = "cpu"
    generator = random.Random(seed)
    words = ["".join(generator.choice(_LETTERS) for _ in range(generator.randint(3, 9))) for _ in range(100)]
    texts = [_sentence(generator, words) for _ in range(_SENTENCES)]
    references = [" ".join(text) + "." for text in texts]
    weights = {"idf": moverscore.get_idf_dict(references, nthreads=1), "plain": defaultdict(lambda: 1.0)}
    results = {}
    for way in ("0.3 replaced", "0.9 replaced", "shuffled", "common words left out"):
        spoilt = [" ".join(_spoilt(generator, way, text, words)) + "." for text in texts]
        for name, idf in weights.items():
            for size, n_gram in (("words", 1), ("pairs", 2), ("sentences", 50)):
                scores = moverscore.word_mover_score(references, spoilt, idf, idf, n_gram=n_gram, device="cpu")
                results[f"{way}/{name}/{size}"] = float(sum(scores) / len(scores))
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
