"""How do chrF, chrF++ and BLEU fall when endings, words or their order are spoilt?"""

import json
import random

from sacrebleu.metrics import BLEU, CHRF

_LETTERS = "abdegiklmnoprstu"
_ENDINGS = ("a", "em", "ich", "ost", "ami", "u", "ovi")
_SENTENCES = 10


def _word(generator: random.Random) -> str:
    stem = "".join(generator.choice(_LETTERS) for _ in range(generator.randint(3, 6)))
    return stem + generator.choice(_ENDINGS)


def _sentence(generator: random.Random, words: list[str]) -> list[str]:
    return [generator.choice(words) for _ in range(generator.randint(4, 11))]


def _other_ending(generator: random.Random, word: str) -> str:
    ending = next(
        (item for item in sorted(_ENDINGS, key=len, reverse=True) if word.endswith(item)),
        "",
    )
    return word.removesuffix(ending) + generator.choice(_ENDINGS)


def _spoilt(generator: random.Random, way: str, sentence: list[str], words: list[str]) -> list[str]:
    spoilt = list(sentence)
    for place in range(len(spoilt)):
        if generator.random() < 0.4:
            if way == "endings":
                spoilt[place] = _other_ending(generator, spoilt[place])
            elif way == "words":
                spoilt[place] = generator.choice(words)
    if way == "order":
        generator.shuffle(spoilt)
    return spoilt[: len(spoilt) // 2] if way == "half" else spoilt


def run(seed: int = 0) -> dict[str, float]:
    """Scores of spoilt texts, by what is spoilt and by measure; each sentence has two references."""
    generator = random.Random(seed)
    words = [_word(generator) for _ in range(60)]
    texts = [_sentence(generator, words) for _ in range(_SENTENCES)]
    # The second reference is freer: one ending in five differs.
    freer = [[_other_ending(generator, word) if generator.random() < 0.2 else word for word in text] for text in texts]
    references = [[" ".join(text) + "." for text in side] for side in (texts, freer)]
    measures = {
        "chrF2": CHRF(),
        "chrF2++": CHRF(word_order=2),
        "chrF1, smoothed": CHRF(beta=1, eps_smoothing=True),
        "BLEU": BLEU(effective_order=True),
    }
    results = {}
    for way in ("endings", "words", "order", "half"):
        spoilt = [" ".join(_spoilt(generator, way, text, words)) + "." for text in texts]
        for name, measure in measures.items():
            results[f"{way}/{name}"] = measure.corpus_score(spoilt, references).score
            alone = [
                measure.sentence_score(text, list(pair)).score for text, *pair in zip(spoilt, *references, strict=True)
            ]
            results[f"{way}/{name}, by sentence"] = sum(alone) / len(alone)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
