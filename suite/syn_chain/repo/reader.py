"""A scripted reader in the place of a language model: it sees prompts alone, and answers in words.

It is honest in one respect: no step knows more than its prompt shows. In step 1 it reads the table, and may misread an
edge of the tree, as smaller models do; how sure it is of a word is the chance that it read all edges on the way to it
rightly. In step 2 it looks for opinions in what step 1 wrote, or, where that is missing, among the words around the
aspect. In step 3 it weighs the opinions that step 2 named; given the syntax alone, every opinion word that is
mentioned; given nothing, the opinion word that stands nearest to the aspect.
"""

import math
import re
from functools import lru_cache

from conll_tree import find_opinions
from data import SENTIMENTS
from lexicon import NEGATIVE, NEUTRAL, POSITIVE, look_up, polarity
from parser import parse
from parses import Parse, Token
from prompts import Prompt

# How many words on either side of an aspect are read as being about it, where no syntax is known.
_WINDOW = 6
_NEGATIONS = ("not", "n't", "never")
# How much a sum of opinions counts, and what speaks for a neutral sentiment.
_SHARPNESS, _NEUTRAL = 3.0, 1.0
_ASPECT = re.compile(r'"([^"]+)"')
_WORD = r"'([^']+)' \(([^)]+)\)"
_MENTIONED = re.compile(_WORD)
_CHAIN = re.compile(f"^Said of it: (not )?{_WORD}", re.MULTILINE)
_NAMED = re.compile(f"^It is called (not )?{_WORD}", re.MULTILINE)


class Reader:
    """slips: how often an edge of the table is misread. belief: how likely each sentiment is, by the last answer."""

    def __init__(self, slips: float, max_path: int) -> None:
        self.slips, self.max_path = slips, max_path
        self.belief: dict[str, float] = {}

    def answer(self, prompt: Prompt) -> str:
        lines = prompt.user.split("\n")
        text = lines[0].removeprefix("Sentence: ")
        aspect = _ASPECT.findall(lines[-1])[-1]
        given = "\n".join(lines[1:-1])
        return {1: self._parse, 2: self._find, 3: self._judge}[prompt.step](text, aspect, given)

    def _parse(self, text: str, aspect: str, given: str) -> str:
        """R1: the words within two edges of the aspect, and the ways that lead to opinions."""
        tree = _read_table(given)
        span = tree.find(aspect)
        edges = dict.fromkeys(range(*span), 0)
        for number in (1, 2):
            near = {tree.tokens[place].head for place in edges}
            near |= {place for place, token in enumerate(tree.tokens) if token.head in edges}
            edges |= {place: number for place in near if place not in edges}
        tied = [place for place in sorted(edges) if place not in range(*span)]
        mentioned = ", ".join(f"'{tree.tokens[place].text}' ({self._sure(edges[place])})" for place in tied)
        lines = [f"It is tied to {mentioned}."]
        for opinion in find_opinions(tree, span, self.max_path):
            sign = "not " if opinion.negated else ""
            word = f"'{tree.tokens[opinion.word].text}' ({self._sure(len(opinion.path))})"
            lines.append(f"Said of it: {sign}{word} by {', '.join(opinion.path)}.")
        return "\n".join(lines)

    def _sure(self, edges: int) -> float:
        """The chance that a way is read rightly."""
        return (1 - self.slips) ** edges

    def _find(self, text: str, aspect: str, given: str) -> str:
        """R2: the opinions about the aspect, each on a line."""
        opinions = _CHAIN.findall(given)
        if not given:
            around = _around(text, aspect)
            opinions = [(sign, word, _nearness(distance)) for distance, sign, word in around if distance <= _WINDOW]
        lines = [f"It is called {sign}'{word}' ({weight})." for sign, word, weight in opinions]
        return "\n".join(lines) or "Nothing is said of it."

    def _judge(self, text: str, aspect: str, given: str) -> str:
        """R3: the sentiment, and why."""
        if not given:
            opinions = [(sign, word, _nearness(distance)) for distance, sign, word in _around(text, aspect)[:1]]
        elif given.startswith("It is tied"):
            opinions = [("", word, weight) for word, weight in _MENTIONED.findall(given)]
        else:
            opinions = _NAMED.findall(given)
        total = sum(float(weight) * _value(word) * (-1 if sign else 1) for sign, word, weight in opinions)
        scores = {POSITIVE: _SHARPNESS * total, NEGATIVE: -_SHARPNESS * total, NEUTRAL: _NEUTRAL}
        weights = {value: math.exp(score - max(scores.values())) for value, score in scores.items()}
        self.belief = {SENTIMENTS[value]: weight / sum(weights.values()) for value, weight in weights.items()}
        sentiment = max(self.belief, key=self.belief.__getitem__)
        words = ", ".join(sign + word for sign, word, _ in opinions)
        return f"The sentiment towards {aspect} is {sentiment}. I weighed: {words}."


def _value(word: str) -> int:
    entry = look_up(word)
    return polarity(Token(word, entry.lemma, entry.pos, entry.tag, 0, "")) or 0


def _nearness(distance: int) -> float:
    """How much a word counts that stands so many words away from the aspect."""
    return 0.9 ** (distance - 1)


@lru_cache(maxsize=256)  # Several plans ask for the same words.
def _around(text: str, aspect: str) -> list[tuple[int, str, str]]:
    """Opinion words by their distance to the aspect in words, each with a sign if one of the two words before negates.

    Tagging takes no tree: of the parse only the tokens are looked at.
    """
    tree = parse(text)
    start, end = tree.find(aspect)
    found = []
    for place, token in enumerate(tree.tokens):
        if polarity(token) is not None and not start <= place < end:
            before = {other.text for other in tree.tokens[max(place - 2, 0) : place]}
            distance = start - place if place < start else place - end + 1
            found.append((distance, "not " if before & set(_NEGATIONS) else "", token.text))
    return sorted(found)


def _read_table(given: str) -> Parse:
    """The rows of a table as tokens, as far as the reader needs them."""
    tokens: list[Token] = []
    start = 0
    for line in given.split("\n"):
        columns = line.split("\t")
        if len(columns) == 1:
            start = len(tokens)
            continue
        number, text, lemma, pos, tag, _, head, relation, *_ = columns
        governor = start + int(head or 0) - 1 if relation != "root" else len(tokens)
        relation = "ROOT" if relation == "root" else relation
        tokens.append(Token(text, lemma, pos, tag, governor, relation, opens=number == "1"))
    return Parse(tokens)
