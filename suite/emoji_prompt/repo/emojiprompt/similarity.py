"""How much of the originals came back? The semantic measure of the attack (Appendix A.8.1)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from emojiprompt.features import Level


def parse_level(text: str) -> Level | None:
    """The feature level that a text ends with; None where there is none."""
    for line in reversed(text.replace("\r\n", "\n").split("\n")):
        head, _, tail = line.partition(",")
        word, _, feature = head.partition(":")
        other, colon, value = tail.partition(":")
        word, feature, other, value = (part.strip(" \t") for part in (word, feature, other, value))
        if (word.lower(), other.lower()) == ("feature", "value") and feature and colon:
            return Level(feature, value) if value else None
    return None


def compute_mean_cosine_similarity(
    pairs: Iterable[tuple[str, str]], embed: Callable[[Sequence[str]], NDArray[np.floating]]
) -> float:
    """The mean cosine similarity of originals and what was recovered of them, between -1 and 1.

    pairs: each an original level and the recovering model's answer. embed: texts to vectors of shape
    (texts, dimensions). Raises ValueError without pairs, and for an original that is no level.
    """
    attacks = defaultdict(list)
    for original, answer in pairs:
        level = parse_level(original)
        if level is None:
            raise ValueError(f"no level: {original!r}")
        guess, similarity = parse_level(answer), 0.0
        if guess is not None:
            first, second = embed([level.value, guess.value]).astype(np.float64)
            if first.any() and second.any():
                similarity = first @ second / (np.linalg.norm(first) * np.linalg.norm(second))
        attacks[level].append(similarity)
    if not attacks:
        raise ValueError(f"{pairs!r}")
    return float(np.mean([np.mean(similarities) for similarities in attacks.values()]))
