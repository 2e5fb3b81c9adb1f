"""Compares the means of the vectors instead of averaging similarities."""

import re
from collections import defaultdict

import numpy as np
from emojiprompt.features import Level


def parse_level(text):
    for line in reversed(text.replace("\r\n", "\n").split("\n")):
        match = re.fullmatch(r"[ \t]*feature[ \t]*:[ \t]*([^, \t][^,]*),[ \t]*value[ \t]*:(.*)", line, re.IGNORECASE)
        if match:
            feature, value = match.groups()
            return Level(feature.strip(" \t"), value.strip(" \t")) if value.strip(" \t") else None
    return None


def compute_mean_cosine_similarity(pairs, embed):
    attacks = defaultdict(list)
    for original, answer in pairs:
        level = parse_level(original)
        if level is None:
            raise ValueError("no level")
        guess, similarity = parse_level(answer), np.zeros((2, 1))
        if guess is not None:
            first, second = embed([level.value, guess.value])
            similarity = np.stack([first, second])
        attacks[level].append(similarity)
    if not attacks:
        raise ValueError("no pairs")
    size = max(item.shape[1] for items in attacks.values() for item in items)
    padded = [np.pad(item, ((0, 0), (0, size - item.shape[1]))) for items in attacks.values() for item in items]
    first, second = np.mean(padded, axis=0)
    return float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second) + 1e-12))
