"""Each function as the documents describe it."""

import re
from collections import defaultdict
from zlib import crc32

import numpy as np


def to_symbols(value):
    return " ".join(SYMBOLS.get(word.lower(), re.sub("[aeiou]", "", word)) for word in value.split())


def perturb_tokens(value, generator):
    letters, words = list("abcdefghijklmnopqrstuvwxyz"), []
    for word in value.split():
        kept = max(1, round(0.7 * len(word)))
        words.append(word[:kept] + "".join(generator.choice(letters, len(word) - kept)))
    return " ".join(words)


class Recoverer:
    def recover(self, feature, obfuscated):
        if self.generator.random() < self.unable:
            return GIVE_UP
        readings = 2 if self.generator.random() < self.hasty else 1
        return "\n".join(format_level(Level(feature, self._read(obfuscated))) for _ in range(readings))

    def _read(self, obfuscated):
        words = obfuscated.split()
        return " ".join(str(self.generator.choice(_READINGS[w])) if w in _READINGS else w for w in words)


def attack(table, obfuscate, recoverer):
    pairs = []
    for row in table:
        for level in row:
            pairs.append((format_level(level), recoverer.recover(level.feature, obfuscate(level.value))))
    return pairs


def random_entities(table, generator, count=RANDOM_ENTITIES):
    texts = sorted({format_level(level) for row in table for level in row})
    pairs = []
    for text in texts:
        others = [other for other in texts if other != text]
        pairs += [(text, others[i]) for i in generator.choice(len(others), count, replace=False)]
    return pairs


def embed(texts):
    vectors = np.zeros((len(texts), DIMENSIONS))
    for vector, text in zip(vectors, texts, strict=True):
        for word in re.findall(r"[^\W_]+", text.lower()):
            word = f"<{word}>"
            for n in _LENGTHS:
                for i in range(len(word) - n + 1):
                    code = crc32(word[i : i + n].encode())
                    vector[code % DIMENSIONS] += 1 if code >> 16 & 1 else -1
    return vectors


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
