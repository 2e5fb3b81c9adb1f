"""Plain loops over words and letters, numbers of Python, lines read from the front, and totals kept by entity."""

import math
import zlib

import numpy as np


def to_symbols(value):
    found = []
    for word in value.split():
        symbol = SYMBOLS.get(word.casefold())
        found.append(word.translate(dict.fromkeys(map(ord, "aeiou"))) if symbol is None else symbol)
    return " ".join(found)


def perturb_tokens(value, generator):
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    text = ""
    for word in value.split():
        missing = len(word) - max(1, math.floor(len(word) * 7 / 10 + 0.5))
        drawn = generator.choice(letters, size=missing, replace=True)
        text += " " + word[: len(word) - missing] + "".join(str(letter) for letter in drawn)
    return text[1:]


class Recoverer:
    def recover(self, feature, obfuscated):
        said = "Hm.\n"
        if not self.generator.random() >= self.unable:
            return GIVE_UP
        if not self.generator.random() >= self.hasty:
            said += f"Feature: {feature}, Value: {self._read(obfuscated)}\nThat does not fit.\n"
        return said + f"Feature: {feature}, Value: {self._read(obfuscated)}"

    def _read(self, obfuscated):
        text = []
        for word in obfuscated.split():
            if word in _READINGS:
                word = str(self.generator.choice(list(_READINGS[word])))
            text.append(word)
        return " ".join(text)


def attack(table, obfuscate, recoverer):
    pairs = []
    for row in table:
        for level in row:
            hidden = obfuscate(level.value)
            answer = recoverer.recover(level.feature, hidden)
            pairs.append((format_level(level), answer))
    return pairs


def random_entities(table, generator, count=RANDOM_ENTITIES):
    levels = []
    for row in table:
        for level in row:
            if level not in levels:
                levels.append(level)
    levels.sort(key=lambda level: format_level(level))
    pairs = []
    for level in levels:
        others = [other for other in levels if other != level]
        places = generator.choice(np.arange(len(others)), size=count, replace=False)
        for place in places:
            pairs.append((format_level(level), format_level(others[int(place)])))
    return pairs


def embed(texts):
    found = np.zeros((len(texts), DIMENSIONS))
    for row, text in enumerate(texts):
        word = ""
        for letter in text.lower() + " ":
            if letter.isalnum():
                word += letter
                continue
            marked = "<" + word + ">" if word else ""
            for length in _LENGTHS:
                for end in range(length, len(marked) + 1):
                    code = zlib.crc32(marked[end - length : end].encode("utf-8"))
                    found[row, code % DIMENSIONS] += 1.0 if code & 65536 else -1.0
            word = ""
    return found


def parse_level(text):
    found = None
    for line in text.split("\n"):
        parts = line.removesuffix("\r").split(",", 1)
        if len(parts) < 2 or ":" not in parts[0] or ":" not in parts[1]:
            continue
        names = [part.split(":", 1) for part in parts]
        if [name.strip().lower() for name, _ in names] == ["feature", "value"] and names[0][1].strip():
            found = Level(names[0][1].strip(), names[1][1].strip())
    return found if found and found.value else None


def compute_mean_cosine_similarity(pairs, embed):
    totals = {}
    for original, answer in pairs:
        one, other = parse_level(original), parse_level(answer)
        if not one:
            raise ValueError(original)
        similarity = 0.0
        if other:
            first, second = embed([one.value])[0].tolist(), embed([other.value])[0].tolist()
            product = math.hypot(*first) * math.hypot(*second)
            if product:
                similarity = sum(left * right for left, right in zip(first, second)) / product
        number, total = totals.get(one, (0, 0.0))
        totals[one] = (number + 1, total + similarity)
    if not totals:
        raise ValueError("no pairs")
    return sum(total / number for number, total in totals.values()) / len(totals)
