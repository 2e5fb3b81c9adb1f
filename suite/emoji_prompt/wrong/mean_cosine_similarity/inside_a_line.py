"""Finds the form anywhere in a line."""

import re
from collections import defaultdict

import numpy as np
from emojiprompt.features import Level


def parse_level(text):
    for line in reversed(text.replace("\r\n", "\n").split("\n")):
        match = re.search(r"[ \t]*feature[ \t]*:[ \t]*([^, \t][^,]*),[ \t]*value[ \t]*:(.*)", line, re.IGNORECASE)
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
        guess, similarity = parse_level(answer), 0.0
        if guess is not None:
            first, second = embed([level.value, guess.value])
            if first.any() and second.any():
                similarity = first @ second / (np.linalg.norm(first) * np.linalg.norm(second))
        attacks[level].append(similarity)
    if not attacks:
        raise ValueError("no pairs")
    return float(np.mean([np.mean(similarities) for similarities in attacks.values()]))
