"""Texts: white space, sentences, and what a sentence says. All texts are ASCII."""

import re
from collections.abc import Iterable

from config import END_MARKS, SENTENCE_END, STATES, STOP_WORDS

_GAP = re.compile("(?<=[" + re.escape("".join(END_MARKS)) + "]) ")
_NAME = re.compile(r"\b[A-Z][A-Za-z]*\b")
_ITEM = re.compile(r'\d+(?:\.\d+)?|"[^"]*"|\b(?:' + "|".join(STATES) + r")\b")


def tidy(text: str) -> str:
    """A text with a single space for each run of white space, and none at its ends."""
    return " ".join(text.split())


def as_sentence(text: str) -> str:
    """A tidy text that ends with a mark: with a full stop where it has none. A text without words stays empty."""
    return _marked(tidy(text))


def split_steps(text: str) -> list[str]:
    """The sentences of a text, each tidy and with its mark; each is a step.

    A sentence ends where white space follows a mark, so that the point in 2.5 ends none.
    """
    return [_marked(sentence) for sentence in _GAP.split(tidy(text)) if sentence]


def join_pieces(pieces: Iterable[str]) -> str:
    """Pieces of a line one space apart; an empty piece adds nothing, not even a space."""
    return " ".join(piece for piece in pieces if piece)


def question_key(question: str) -> str:
    """What two questions have in common that are the same but for white space and capitals."""
    return tidy(question).lower()


def information(text: str) -> frozenset[str]:
    """What must not get lost of a text: its numbers, what it quotes, the sides of coins, and names."""
    names = [word for word in _NAME.findall(text) if word.lower() not in STOP_WORDS]
    return frozenset([*_ITEM.findall(text), *names])


def _marked(tidied: str) -> str:
    return tidied if not tidied or tidied.endswith(END_MARKS) else tidied + SENTENCE_END
