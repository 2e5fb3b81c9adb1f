"""How do scores fall when words are replaced, left out or shuffled, and what do weights and baselines change?"""

import json
import random

import torch
from bert_score.scorer import BERTScorer

_LETTERS = "abdegiklmnoprstu"
_COMMON = ["the", "of", "to", "and", "in", "is"]
_SENTENCES = 12


def _words(generator: random.Random) -> list[str]:
    return ["".join(generator.choice(_LETTERS) for _ in range(generator.randint(3, 9))) for _ in range(120)]


def _sentence(generator: random.Random, words: list[str]) -> list[str]:
    return [generator.choice(_COMMON if place % 2 else words) for place in range(generator.randint(5, 12))]


def _spoilt(generator: random.Random, way: str, sentence: list[str], words: list[str]) -> list[str]:
    if way == "shuffled":
        return generator.sample(sentence, len(sentence))
    if way == "common words left out":
        return [word for word in sentence if word not in _COMMON]
    share = float(way.split()[0])
    return [generator.choice(words) if generator.random() < share else word for word in sentence]


def run(seed: int = 0) -> dict[str, float]:
    """Means of precision, recall and F, by what is spoilt and by setting."""
    generator = random.Random(seed)
    words = _words(generator)
    texts = [_sentence(generator, words) for _ in range(_SENTENCES)]
    references = [" ".join(text) for text in texts]
    settings = {"plain": {}, "idf": {"idf": True, "idf_sents": references}}
    results = {}
    for name, more in settings.items():
        scorer = BERTScorer("toy", num_layers=4, nthreads=0, device="cpu", lang="en", **more)
        # The baseline is what unrelated sentences score.
        unrelated = [" ".join(_sentence(generator, words)) for _ in range(_SENTENCES)]
        baseline = torch.stack([score.mean() for score in scorer.score(unrelated, references)])
        scorer._baseline_vals, scorer._rescale_with_baseline = baseline, True
        for way in ("0.0 replaced", "0.2 replaced", "0.6 replaced", "shuffled", "common words left out"):
            spoilt = [" ".join(_spoilt(generator, way, text, words)) for text in texts]
            scores = scorer.score(spoilt, references, batch_size=8)
            for side, score in zip(("P", "R", "F"), scores, strict=True):
                results[f"{name}/{way}/{side}"] = score.mean().item()
        pairs = [[first, second] for first, second in zip(references, unrelated, strict=True)]
        results[f"{name}/two references/F"] = scorer.score(unrelated, pairs)[2].mean().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
