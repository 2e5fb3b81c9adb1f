"""Levels read by splitting at the marks, cosines from the angle, and a list for each entity."""

import math

from emojiprompt.features import Level


def parse_level(text):
    for line in text.replace("\r\n", "\n").split("\n")[::-1]:
        name, mark, rest = line.partition(",")
        head, colon, feature = name.partition(":")
        tail, second, value = rest.partition(":")
        if not (mark and colon and second and feature.strip(" \t")):
            continue
        if head.lower().strip(" \t") != "feature" or tail.lower().strip(" \t") != "value":
            continue
        return Level(feature.strip(" \t"), value.strip(" \t")) if value.strip(" \t") else None
    return None


def _cosine(one, other):
    squares = sum(float(x) ** 2 for x in one) * sum(float(x) ** 2 for x in other)
    return sum(float(x) * float(y) for x, y in zip(one, other)) / math.sqrt(squares) if squares > 0 else 0.0


def compute_mean_cosine_similarity(pairs, embed):
    levels, answers = [], []
    for original, answer in pairs:
        levels.append(parse_level(original))
        answers.append(parse_level(answer))
    if None in levels or len(levels) == 0:
        raise ValueError("an original is no level")
    means = []
    for entity in set(levels):
        mine = [answer for level, answer in zip(levels, answers) if level == entity]
        vector = embed([entity.value])[0]
        found = [0.0 if answer is None else _cosine(vector, embed([answer.value])[0]) for answer in mine]
        means.append(math.fsum(found) / len(found))
    return math.fsum(means) / len(means)
