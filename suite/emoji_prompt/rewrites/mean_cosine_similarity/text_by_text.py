"""A text at a time is embedded, as a unit vector in extended precision, and cosines are clipped."""

import re
from statistics import fmean

import numpy as np
from emojiprompt.features import Level


def parse_level(text):
    form = re.compile(r"[ \t]*feature[ \t]*:([^,]+),[ \t]*value[ \t]*:(.*)", re.IGNORECASE | re.DOTALL)
    read = [form.fullmatch(line) for line in re.split(r"\r?\n", text)]
    parts = [[part.strip(" \t") for part in match.groups()] for match in read if match]
    name, value = next((pair for pair in reversed(parts) if pair[0]), ("", ""))
    return Level(name, value) if value else None


def compute_mean_cosine_similarity(pairs, embed):
    def unit(text):
        vector = np.array(embed([text])[0], dtype=np.longdouble)
        return vector / (np.hypot.reduce(vector) or 1)

    scores = {}
    for original, answer in pairs:
        levels = parse_level(original), parse_level(answer)
        if levels[0] is None:
            raise ValueError(original)
        cosine = np.dot(unit(levels[0].value), unit(levels[1].value)) if levels[1] else 0
        scores.setdefault(levels[0], []).append(float(np.clip(cosine, -1, 1)))
    if not scores:
        raise ValueError("empty")
    return fmean(map(fmean, scores.values()))
