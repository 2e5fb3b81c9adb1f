"""Generators and lists of rows, n-grams counted before they are hashed, and a matrix of all similarities at once."""

from collections import Counter, defaultdict
from zlib import crc32

import numpy as np


def to_symbols(value):
    def symbol(word):
        consonants = [letter for letter in word if "aeiou".find(letter) < 0]
        return SYMBOLS.get(word.lower()) or "".join(consonants)

    return " ".join(symbol(word) for word in value.split())


def perturb_tokens(value, generator):
    alphabet, words = tuple("abcdefghijklmnopqrstuvwxyz"), value.split()
    kept = [word[: max(1, int(0.7 * len(word) + 0.5))] for word in words]
    ends = [generator.choice(alphabet, len(word) - len(start)).tolist() for word, start in zip(words, kept)]
    return " ".join(start + "".join(end) for start, end in zip(kept, ends))


class Recoverer:
    def recover(self, feature, obfuscated):
        unable = self.generator.random() < self.unable
        hasty = not unable and self.generator.random() < self.hasty
        if unable:
            return GIVE_UP
        lines = (
            ["It might be:", self._read(obfuscated), "or", self._read(obfuscated)]
            if hasty
            else [self._read(obfuscated)]
        )
        named = [format_level(Level(feature, line)) if place % 2 == hasty else line for place, line in enumerate(lines)]
        return "\n".join(named)

    def _read(self, obfuscated):
        choices = (_READINGS.get(part, [part]) for part in obfuscated.split())
        return " ".join(str(self.generator.choice(items)) if len(items) > 1 else items[0] for items in choices)


def attack(table, obfuscate, recoverer):
    def pairs():
        for row in table:
            for level in row:
                yield format_level(level), recoverer.recover(level.feature, obfuscate(level.value))

    return list(pairs())


def random_entities(table, generator, count=RANDOM_ENTITIES):
    texts = np.unique([format_level(level) for row in table for level in row])
    pairs = []
    for text in texts:
        others = texts[texts != text]
        drawn = others[generator.choice(len(others), count, False)]
        pairs += [(str(text), str(other)) for other in drawn]
    return pairs


def embed(texts):
    vectors = np.zeros((len(texts), DIMENSIONS), dtype=float)
    for row, text in enumerate(texts):
        separated = "".join(letter * letter.isalnum() or "\n" for letter in text.lower())
        grams = Counter()
        for word in filter(None, separated.split("\n")):
            marked = "<" + word + ">"
            grams.update(marked[start:][:length] for length in _LENGTHS for start in range(len(marked) + 1 - length))
        for gram, times in grams.items():
            code = crc32(gram.encode())
            vectors[row, code % DIMENSIONS] += times * (-1) ** ((code >> 16) + 1)
    return vectors


def parse_level(text):
    def levels():
        for line in text.replace("\r", "").split("\n"):
            name, comma, value = (part.strip() for part in line.partition(","))
            name, value = name.partition(":"), value.partition(":")
            words = name[0].strip().upper(), value[0].strip().upper()
            if comma and value[1] and words == ("FEATURE", "VALUE") and name[2].strip():
                yield Level(name[2].strip(), value[2].strip())

    last = next(reversed(list(levels())), None)
    return last if last is not None and last.value != "" else None


def compute_mean_cosine_similarity(pairs, embed):
    pairs = list(pairs)
    originals = [parse_level(original) for original, _ in pairs]
    if len(originals) == 0 or None in originals:
        raise ValueError("no level")
    guesses = [parse_level(answer) for _, answer in pairs]
    values = [original.value for original in originals] + [guess.value if guess else "" for guess in guesses]
    vectors = np.array(embed(values), dtype=float)
    vectors[len(originals) :][[guess is None for guess in guesses]] = 0.0
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    similarities = (vectors[: len(originals)] * vectors[len(originals) :]).sum(axis=1)
    entities = defaultdict(list)
    for original, similarity in zip(originals, similarities.tolist()):
        entities[original].append(similarity)
    return float(np.mean([np.mean(items) for items in entities.values()]))
