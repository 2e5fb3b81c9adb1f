"""Regular expressions, whole numbers drawn in place of choices, one embedding of all values, and a weighted mean."""

import re
from collections import Counter
from itertools import chain
from zlib import crc32

import numpy as np


def to_symbols(value):
    return " ".join(
        SYMBOLS[word.lower()] if word.lower() in SYMBOLS else re.sub("[aeiou]", "", word) for word in value.split()
    )


def perturb_tokens(value, generator):
    def perturbed(word):
        kept = (7 * len(word) + 5) // 10
        drawn = generator.integers(26, size=len(word) - kept)
        return word[:kept] + bytes(97 + number for number in drawn.tolist()).decode()

    return " ".join(map(perturbed, value.split()))


class Recoverer:
    def recover(self, feature, obfuscated):
        if self.generator.random() < self.unable:
            return GIVE_UP
        times = 2 if self.generator.random() < self.hasty else 1
        named = [format_level(Level(feature, self._read(obfuscated))) for _ in range(times)]
        return "\nNo, it is:\n".join(named)

    def _read(self, obfuscated):
        words = []
        for part in re.findall(r"\S+", obfuscated):
            known = _READINGS.get(part)
            words.append(known[self.generator.integers(len(known))] if known else part)
        return " ".join(words)


def attack(table, obfuscate, recoverer):
    cells = chain.from_iterable(table)
    return [(format_level(cell), recoverer.recover(cell.feature, obfuscate(cell.value))) for cell in cells]


def random_entities(table, generator, count=RANDOM_ENTITIES):
    texts = sorted({format_level(level) for row in table for level in row})
    pairs = []
    for place, text in enumerate(texts):
        drawn = generator.choice(len(texts) - 1, count, replace=False)
        pairs.extend((text, texts[number + (number >= place)]) for number in drawn.tolist())
    return pairs


def embed(texts):
    vectors = []
    for text in texts:
        marked = [f"<{word}>" for word in re.findall(r"[^\W_]+", text.lower())]
        grams = [gram for word in marked for n in _LENGTHS for gram in map("".join, zip(*(word[k:] for k in range(n))))]
        codes = np.array([crc32(gram.encode()) for gram in grams], dtype=np.int64)
        signs = 2.0 * (codes // 65536 % 2) - 1
        vectors.append(np.bincount(codes % DIMENSIONS, weights=signs, minlength=DIMENSIONS))
    return np.array(vectors)


def parse_level(text):
    form = r"^[ \t]*feature[ \t]*:[ \t]*([^ \t\n,][^,\n]*),[ \t]*value[ \t]*:([^\n]*?)\r?$"
    found = re.findall(form, text, re.I | re.M)
    if not found or not found[-1][1].strip(" \t"):
        return None
    return Level(*(part.strip(" \t") for part in found[-1]))


def compute_mean_cosine_similarity(pairs, embed):
    levels = [(parse_level(original), parse_level(answer)) for original, answer in pairs]
    counts = Counter(original for original, _ in levels)
    if not levels or None in counts:
        raise ValueError("originals must be levels")
    values = sorted({level.value for pair in levels for level in pair if level})
    unit = {}
    for value, vector in zip(values, embed(values)):
        length = np.sqrt(np.square(vector).sum())
        unit[value] = vector / length if length else vector
    similarities = [unit[one.value] @ unit[other.value] if other else 0.0 for one, other in levels]
    return float(np.average(similarities, weights=[1 / counts[original] for original, _ in levels]))
