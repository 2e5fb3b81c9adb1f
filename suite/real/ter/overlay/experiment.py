"""How many edits do moved blocks, replaced words and missing words cost, and what do shifts save?"""

import json
import random

from sacrebleu.metrics import TER
from sacrebleu.metrics.lib_ter import BeamEditDistance

_SENTENCES = 4


def _moved(generator: random.Random, sentence: list[str], size: int) -> list[str]:
    start = generator.randint(0, len(sentence) - size)
    block, rest = sentence[start : start + size], sentence[:start] + sentence[start + size :]
    place = generator.randint(0, len(rest))
    return rest[:place] + block + rest[place:]


def _spoilt(generator: random.Random, way: str, sentence: list[str], words: list[str]) -> list[str]:
    if way.startswith("a block of"):
        return _moved(generator, sentence, int(way.split()[3]))
    if way == "words replaced":
        return [generator.choice(words) if generator.random() < 0.3 else word for word in sentence]
    if way == "words left out":
        return [word for word in sentence if generator.random() < 0.7]
    if way == "two blocks and a word":
        once = _moved(generator, _moved(generator, sentence, 2), 3)
        return [*once[:4], generator.choice(words), *once[5:]]
    return generator.sample(sentence, len(sentence))


def run(seed: int = 0) -> dict[str, float]:
    """Rates in percent, by what is spoilt."""
    generator = random.Random(seed)
    words = ["".join(generator.choice("abdeiklmnorstu") for _ in range(generator.randint(2, 6))) for _ in range(40)]
    texts = [[generator.choice(words) for _ in range(generator.randint(8, 15))] for _ in range(_SENTENCES)]
    second = [[generator.choice(words) if generator.random() < 0.2 else word for word in text] for text in texts]
    references = [[" ".join(text) for text in side] for side in (texts, second)]
    ways = ("a block of 1", "a block of 4", "two blocks and a word", "words replaced", "words left out", "shuffled")
    results = {}
    for way in ways:
        spoilt = [_spoilt(generator, way, text, words) for text in texts]
        hypotheses = [" ".join(text) for text in spoilt]
        results[f"{way}/one reference"] = TER().corpus_score(hypotheses, references[:1]).score
        results[f"{way}/two references"] = TER().corpus_score(hypotheses, references).score
        plain = sum(BeamEditDistance(text)(own)[0] for text, own in zip(texts, spoilt, strict=True))
        results[f"{way}/without shifts"] = 100 * plain / sum(map(len, texts))
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
