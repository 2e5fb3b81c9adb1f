"""How do the measures fall when words, their order or the order of sentences are spoilt?"""

import json
import random

from rouge_score.rouge_scorer import RougeScorer

_TYPES = ("rouge1", "rouge2", "rougeL", "rougeLsum")
_SUMMARIES = 8


def _summary(generator: random.Random, words: list[str]) -> list[list[str]]:
    return [[generator.choice(words) for _ in range(generator.randint(5, 12))] for _ in range(generator.randint(2, 5))]


def _replaced(generator: random.Random, summary: list[list[str]], words: list[str], share: float) -> list[list[str]]:
    return [[generator.choice(words) if generator.random() < share else word for word in line] for line in summary]


def _text(summary: list[list[str]]) -> str:
    return "\n".join(" ".join(line) + "." for line in summary)


def run(seed: int = 0) -> dict[str, float]:
    """Mean F-measures by what is spoilt and by measure; recall and precision where half of the sentences miss."""
    generator = random.Random(seed)
    words = ["".join(generator.choice("aeioklmnrst") for _ in range(4)) for _ in range(80)]
    summaries = [_summary(generator, words) for _ in range(_SUMMARIES)]
    scorer = RougeScorer(list(_TYPES))
    ways = {
        f"words, {share}": lambda item, share=share: _replaced(generator, item, words, share)
        for share in (0.1, 0.4, 0.8)
    }
    ways["order of words"] = lambda item: [generator.sample(line, len(line)) for line in item]
    ways["order of sentences"] = lambda item: generator.sample(item, len(item))
    ways["half"] = lambda item: item[: len(item) // 2]
    results = {}
    for name, spoil in ways.items():
        scores = [scorer.score(_text(item), _text(spoil(item))) for item in summaries]
        for kind in _TYPES:
            results[f"{name}/{kind}"] = sum(score[kind].fmeasure for score in scores) / len(scores)
            if name == "half":
                results[f"{name}/{kind}, precision"] = sum(score[kind].precision for score in scores) / len(scores)
                results[f"{name}/{kind}, recall"] = sum(score[kind].recall for score in scores) / len(scores)
    # With more references there is more to agree with.
    for count in (1, 4):
        found = []
        for item in summaries:
            references = [_text(_replaced(generator, item, words, 0.5)) for _ in range(count)]
            found.append(scorer.score_multi(references, _text(item)))
        for kind in _TYPES:
            results[f"{count} references/{kind}"] = sum(score[kind].fmeasure for score in found) / len(found)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
