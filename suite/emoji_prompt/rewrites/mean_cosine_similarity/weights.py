"""A weighted mean over all pairs, each with one over the number of its entity's attacks."""

import re
from collections import Counter

import numpy as np
from emojiprompt.features import Level


def parse_level(text):
    form = r"^[ \t]*feature[ \t]*:[ \t]*([^ \t\n,][^,\n]*),[ \t]*value[ \t]*:([^\n]*?)\r?$"
    found = re.findall(form, text, re.I | re.M)
    if not found or not found[-1][1].strip(" \t"):
        return None
    return Level(*(part.strip(" \t") for part in found[-1]))


def compute_mean_cosine_similarity(pairs, embed):
    pairs = [(parse_level(original), parse_level(answer)) for original, answer in pairs]
    counts = Counter(original for original, _ in pairs)
    if not pairs or None in counts:
        raise ValueError("originals must be levels")
    similarities = np.zeros(len(pairs))
    for place, (original, answer) in enumerate(pairs):
        if answer is not None:
            matrix = np.stack([embed([original.value])[0], embed([answer.value])[0]])
            gram = matrix @ matrix.T
            if gram[0, 0] > 0 and gram[1, 1] > 0:
                similarities[place] = gram[0, 1] / np.sqrt(gram[0, 0]) / np.sqrt(gram[1, 1])
    return float(np.average(similarities, weights=[1 / counts[original] for original, _ in pairs]))
