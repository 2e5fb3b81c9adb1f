"""A scripted reader in the place of a language model: it sees prompts alone, and answers in words.

It is honest in one respect: no step knows more than its prompt shows. In step 1 it reads the table, and may take one
relation for another, as smaller models do. In step 2 it looks for opinions in what step 1 wrote, or, where that is
missing, among the words around the aspect. In step 3 it weighs the opinions that step 2 named; given the syntax alone,
every opinion word that is mentioned; given nothing, the opinion word that stands nearest to the aspect.
"""

import random
import re

from conll_tree import find_opinions
from data import SENTIMENTS
from lexicon import look_up, polarity
from parser import parse
from parses import Parse, Token
from prompts import Prompt

# How many words on either side of an aspect are read as being about it, where no syntax is known.
_WINDOW = 4
_NEGATIONS = ("not", "n't", "never")
_ASPECT = re.compile(r'"([^"]+)"')
_MENTIONED = re.compile(r"'([^']+)'")
_CHAIN = re.compile(r"^Said of it: (not )?'([^']+)'", re.MULTILINE)
_NAMED = re.compile(r"^It is called (not )?'([^']+)'", re.MULTILINE)


class Reader:
    """slips: how often a relation of the table is taken for another one of the table."""

    def __init__(self, slips: float, max_path: int, seed: int) -> None:
        self.slips, self.max_path, self.generator = slips, max_path, random.Random(seed)

    def answer(self, prompt: Prompt) -> str:
        lines = prompt.user.split("\n")
        text = lines[0].removeprefix("Sentence: ")
        aspect = _ASPECT.findall(lines[-1])[-1]
        given = "\n".join(lines[1:-1])
        return {1: self._parse, 2: self._find, 3: self._judge}[prompt.step](text, aspect, given)

    def _parse(self, text: str, aspect: str, given: str) -> str:
        """R1: the words within two edges of the aspect, and the ways that lead to opinions."""
        tree = _read_table(given)
        relations = sorted({token.relation for token in tree.tokens if token.relation != "ROOT"})
        for token in tree.tokens:
            if token.relation != "ROOT" and self.generator.random() < self.slips:
                token.relation = self.generator.choice(relations)
        span = tree.find(aspect)
        near = set(range(*span))
        for _ in range(2):
            near |= {tree.tokens[place].head for place in near} | {
                place for place, token in enumerate(tree.tokens) if token.head in near
            }
        mentioned = ", ".join(f"'{tree.tokens[place].text}'" for place in sorted(near - set(range(*span))))
        lines = [f"It is tied to {mentioned}."]
        for opinion in find_opinions(tree, span, self.max_path):
            sign = "not " if opinion.negated else ""
            lines.append(f"Said of it: {sign}'{tree.tokens[opinion.word].text}' by {', '.join(opinion.path)}.")
        return "\n".join(lines)

    def _find(self, text: str, aspect: str, given: str) -> str:
        """R2: the opinions about the aspect, each on a line."""
        opinions = _CHAIN.findall(given)
        if not given:
            opinions = [(sign, word) for distance, sign, word in _around(text, aspect) if distance <= _WINDOW]
        return "\n".join(f"It is called {sign}'{word}'." for sign, word in opinions) or "Nothing is said of it."

    def _judge(self, text: str, aspect: str, given: str) -> str:
        """R3: the sentiment, and why."""
        if not given:
            opinions = [(sign, word) for _, sign, word in _around(text, aspect)[:1]]
        elif given.startswith("It is tied"):
            opinions = [("", word) for word in _MENTIONED.findall(given)]
        else:
            opinions = _NAMED.findall(given)
        total = sum(_value(word) * (-1 if sign else 1) for sign, word in opinions)
        sentiment = SENTIMENTS[(total > 0) - (total < 0)]
        words = ", ".join(sign + word for sign, word in opinions)
        return f"The sentiment towards {aspect} is {sentiment}. I weighed: {words}."


def _value(word: str) -> int:
    entry = look_up(word)
    return polarity(Token(word, entry.lemma, entry.pos, entry.tag, 0, "")) or 0


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
