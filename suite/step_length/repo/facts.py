"""What the strategies of Section 3.3 say: about a question, about steps so far, and about an answer.

Nothing here adds information: each fact is read off the question, the steps or the form of the answer.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from config import STATES, STEM_WORDS, STOP_WORDS
from text import split_steps

_WORD = re.compile(r"[A-Za-z]+")
_EQUATION = re.compile(r"(\d+)((?: [+-] \d+)+) = (-?\d+)")
_LETTER = re.compile(r'is "([a-z])"')
_SIDE = re.compile(r"is (" + "|".join(STATES) + r") up")
_QUOTED = re.compile(r'"([^"]*)"')


def final_question(question: str) -> str:
    """The last sentence of a text that asks; of a text in which none asks, the last one. Empty for an empty text."""
    sentences = split_steps(question)
    asking = [sentence for sentence in sentences if sentence.endswith("?")]
    return (asking or sentences or [""])[-1]


def stem_words(question: str) -> list[str]:
    """The first few different words that carry the question, as they are written; there may be none."""
    words: dict[str, str] = {}
    for word in _WORD.findall(question):
        if word.lower() not in STOP_WORDS:
            words.setdefault(word.lower(), word)
    return list(words.values())[:STEM_WORDS]


def current_state(task: str, steps: Sequence[str]) -> str | None:
    """Where some first steps of a rationale have led; None where they have led to nothing yet."""
    text = " ".join(steps)
    if task == "arithmetic":
        results = [match[3] for match in _EQUATION.finditer(text)]
        return f"the count is {results[-1]}" if results else None
    if task == "letter":
        letters = "".join(_LETTER.findall(text))
        return f'the letters are "{letters}"' if letters else None
    sides = _SIDE.findall(text)
    return f"the coin is {sides[-1]} up" if sides else None


def equation(task: str, steps: Sequence[str]) -> str | None:
    """All steps of a rationale as one equation; None where they are none, as they never are for letters."""
    text = " ".join(steps)
    if task == "arithmetic":
        parts = _EQUATION.findall(text)
        return f"{parts[0][0]}{''.join(terms for _, terms, _ in parts)} = {parts[-1][2]}" if parts else None
    if task == "coin":
        signs = [1, *(1 if side == STATES[0] else -1 for side in _SIDE.findall(text))]
        turns = [f"{one * other}" for one, other in pairwise(signs)]
        return f"1 * {' * '.join(turns)} = {signs[-1]}" if turns else None
    return None


def basic_fact(task: str, question: str, answer: str) -> tuple[str, bool]:
    """Something simple that every answer to a question has to satisfy, and whether this one, which is tidy, does."""
    if task == "arithmetic":
        return "a count is a whole number and not below 0", answer.isdigit()
    if task == "letter":
        words = len((_QUOTED.findall(question) or [""])[0].split())
        return f"{words} words give {words} letters", len(answer) == words
    return "the answer can only be yes or no", answer in ("yes", "no")
