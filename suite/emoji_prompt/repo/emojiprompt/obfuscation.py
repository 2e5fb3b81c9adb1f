"""Stand-ins for the obfuscation model (Section 3.2) and for a baseline that perturbs tokens.

Both work on the atomic level: they see one value at a time, and never a row.
"""

import numpy as np

SYMBOLS = {
    "bachelors": "🎓",
    "masters": "🎓🎓",
    "doctorate": "🔬",
    "college": "🏫",
    "school": "🏫",
    "graduate": "🎓",
    "high": "⬆️",
    "some": "➗",
    "farming": "🚜",
    "fishing": "🎣",
    "machine": "⚙️",
    "operator": "👷",
    "office": "🏢",
    "clerk": "📎",
    "sales": "💰",
    "craft": "🔨",
    "repair": "🔧",
    "married": "💍",
    "never": "🚫",
    "divorced": "💔",
    "widowed": "🥀",
    "private": "🔒",
    "company": "🏢",
    "federal": "🏛️",
    "government": "🏛️",
    "self": "👤",
    "employed": "💼",
    "without": "🚫",
    "pay": "💰",
    "yes": "✅",
    "no": "❌",
    "and": "➕",
    "degree": "📜",
}


def to_symbols(value: str) -> str:
    """A value as symbols; a word that has none loses its lowercase vowels (a, e, i, o and u)."""
    return " ".join(
        SYMBOLS.get(word.lower(), "".join(letter for letter in word if letter not in "aeiou")) for word in value.split()
    )


def perturb_tokens(value: str, generator: np.random.Generator) -> str:
    """A value in which each word was replaced by one that is spelled like it: the last letters are others."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = []
    for word in value.split():
        kept = max(1, round(0.7 * len(word)))
        words.append(word[:kept] + "".join(generator.choice(letters, len(word) - kept)))
    return " ".join(words)
