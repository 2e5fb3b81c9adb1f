"""A regular expression, and a list of cosines for each entity."""

import re
from collections import defaultdict

import numpy as np
from emojiprompt.features import Level


def parse_level(text):
    for line in reversed(text.splitlines()):
        match = re.match(r"\s*feature\s*:(.*?),\s*value\s*:(.*)", line, re.IGNORECASE)
        if match:
            return Level(match[1].strip(), match[2].strip())
    return None


def compute_mean_cosine_similarity(pairs, embed):
    similarities = defaultdict(list)
    for original, answer in pairs:
        level, guess = parse_level(original), parse_level(answer)
        if level is None:
            raise ValueError(f"not a level: {original!r}")
        if guess is None:
            similarities[level].append(0.0)
            continue
        a, b = embed([level.value, guess.value])
        similarities[level].append(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
    if not similarities:
        raise ValueError("no pairs")
    return float(np.mean([np.mean(found) for found in similarities.values()]))
