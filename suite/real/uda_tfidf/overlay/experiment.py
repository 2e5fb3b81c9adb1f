"""What is left of topics when words are replaced by TF-IDF, and when any word may be replaced by any other."""

import json
import random
import tempfile

import numpy as np
from nlpaug.augmenter.word import TfIdfAug
from nlpaug.model.word_stats import TfIdf

_TOPICS, _TEXTS, _ROUNDS = 4, 12, 6
_TOPIC_WORDS, _COMMON_WORDS = 4, 12
_OF_TOPIC, _COMMON = 3, 10


def _text(generator: random.Random, topic: int) -> list[str]:
    words = [f"t{topic}w{number}" for number in generator.sample(range(_TOPIC_WORDS), _OF_TOPIC)]
    words += [f"c{number}" for number in generator.sample(range(_COMMON_WORDS), _COMMON)]
    generator.shuffle(words)
    return words


def _hits(words: list[str]) -> list[int]:
    """How many words of each topic there are."""
    return [sum(word.startswith(f"t{topic}w") for word in words) for topic in range(_TOPICS)]


def _tells(words: list[str], topic: int) -> bool:
    """Whether a text has more words of this topic than of any other."""
    hits = _hits(words)
    return all(hits[topic] > count for other, count in enumerate(hits) if other != topic)


def _blind(generator: random.Random, model: TfIdf) -> TfIdf:
    """A model with IDFs that do not depend on the words."""
    flat = TfIdf()
    flat.w2idf = {word: generator.uniform(1.0, 2.0) for word in model.w2idf}
    flat.tokens = list(model.tokens)
    flat.tfidf_scores = [1 / len(flat.tokens)] * len(flat.tokens)
    return flat


def run(seed: int = 0) -> dict[str, float]:
    """What replacements leave of topics, by kind, and the probabilities of topic words to be replaced and drawn."""
    generator = random.Random(seed)
    random.seed(seed)
    np.random.seed(seed)
    texts = [(_text(generator, topic), topic) for topic in range(_TOPICS) for _ in range(_TEXTS)]
    model = TfIdf()
    model.train([words for words, _ in texts])
    replaced = 0.0
    for words, _ in texts:
        shares = model.cal_tfidf(list(range(len(words))), words)
        replaced += sum(share for word, share in zip(words, shares, strict=True) if word.startswith("t"))
    drawn = sum(model.w2tfidf[word] for word in model.tokens if word.startswith("t"))
    results = {
        "words of topics/in texts": _OF_TOPIC / (_OF_TOPIC + _COMMON),
        "words of topics/to be replaced": float(replaced / len(texts)),
        "words of topics/in the vocabulary": sum(word.startswith("t") for word in model.tokens) / len(model.tokens),
        "words of topics/to be drawn": float(drawn),
    }
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        augmenter = TfIdfAug(model_path=folder, aug_max=1)
        # The package keeps the first model that a process has read.
        augmenter.model = augmenter.get_model(force_reload=True)
    models = {"TF-IDF": augmenter.model, "at random": _blind(generator, model)}
    for name, chosen in models.items():
        augmenter.model = chosen
        right, left, strange, changed = 0, 0, 0, 0
        for words, topic in texts:
            text = " ".join(words)
            for _ in range(_ROUNDS):
                text = augmenter.augment(text)[0]
            found = text.split()
            right += _tells(found, topic)
            left += sum(one == other for one, other in zip(words, found, strict=True) if one.startswith("t"))
            strange += sum(_hits(found)) - _hits(found)[topic]
            changed += sum(one != other for one, other in zip(words, found, strict=True))
        results[f"{name}/texts that keep their topic"] = right / len(texts)
        results[f"{name}/words of the topic that stay"] = left / len(texts)
        results[f"{name}/words of other topics"] = strange / len(texts)
        results[f"{name}/words changed"] = changed / len(texts)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
