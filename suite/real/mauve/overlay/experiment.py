"""Which of several ways to spoil the frequencies of topics do MAUVE and the frontier integral find worst?"""

import json

import numpy as np
from mauve import compute_mauve

_TOPICS, _FOREIGN, _WIDTH, _TEXTS = 16, 4, 8, 240


def _texts(generator: np.random.Generator, topics: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """Features of texts: that of a topic, and a little noise."""
    drawn = generator.choice(len(topics), size=_TEXTS, p=frequencies / frequencies.sum())
    return topics[drawn] + 0.02 * generator.standard_normal((_TEXTS, _WIDTH))


def run(seed: int = 0) -> dict[str, float]:
    """Scores by what was done to the frequencies of topics."""
    generator = np.random.default_rng(seed)
    topics = generator.standard_normal((_TOPICS + _FOREIGN, _WIDTH))
    human = np.append(1 / np.arange(1.0, _TOPICS + 1), np.zeros(_FOREIGN))
    models = {
        "like people": human,
        "rare topics left out": np.where(human > 0.1, human, 0.0),
        "greedy": human**4,
        "even": (human > 0).astype(float),
        "foreign topics": np.append(human[:_TOPICS], np.full(_FOREIGN, 0.3)),
        "foreign topics alone": (human == 0).astype(float),
    }
    written = _texts(generator, topics, human)
    results = {}
    for name, frequencies in models.items():
        made = _texts(generator, topics, frequencies)
        scores = compute_mauve(written, made, num_buckets=_TOPICS + _FOREIGN, seed=seed)
        results[f"{name}/MAUVE"] = float(scores.mauve)
        results[f"{name}/MAUVE*"] = float(scores.mauve_star)
        results[f"{name}/frontier integral"] = float(scores.frontier_integral)
        results[f"{name}/frontier integral*"] = float(scores.frontier_integral_star)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
