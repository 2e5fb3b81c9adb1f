"""All texts embedded at once, and unit vectors multiplied."""

import re

import numpy as np
from emojiprompt.features import Level

_FORM = re.compile(r"[ \t]*feature[ \t]*:(?P<feature>[^,]*),[ \t]*value[ \t]*:(?P<value>.*)", re.I | re.S)


def parse_level(text):
    found = None
    for line in text.replace("\r\n", "\n").split("\n"):
        match = _FORM.fullmatch(line)
        if match and match["feature"].strip(" \t"):
            found = match
    if found is None or not found["value"].strip(" \t"):
        return None
    return Level(found["feature"].strip(" \t"), found["value"].strip(" \t"))


def compute_mean_cosine_similarity(pairs, embed):
    read = [(parse_level(original), parse_level(answer)) for original, answer in pairs]
    if not read or any(level is None for level, _ in read):
        raise ValueError("nothing to compare with")
    texts = sorted({level.value for pair in read for level in pair if level is not None})
    vectors = np.asarray(embed(texts), dtype=float)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = dict(zip(texts, np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)))
    total = {}
    for level, guess in read:
        one = 0.0 if guess is None else float(np.dot(units[level.value], units[guess.value]))
        summed, count = total.get(level, (0.0, 0))
        total[level] = summed + one, count + 1
    return sum(summed / count for summed, count in total.values()) / len(total)
