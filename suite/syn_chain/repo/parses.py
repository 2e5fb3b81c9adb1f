"""What the parser makes of a text: tokens, each with its governor, over one sentence or several.

The conventions are spaCy's. Tokens are counted from 0 through the whole text, sentences do not begin anew. White space
that is more than a single space is a token of its own (part of speech SPACE). It governs nothing and says nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

SPACE = "SPACE"


@dataclass(slots=True)
class Token:
    """One token of a text.

    lemma, pos, tag: may be empty where the parser knows nothing. features: the values of each morphological feature,
    names and values in no order. head: the place of the governor in the parse; a root has its own. relation: to the
    governor, ROOT for a root. space: does a single space follow? opens: is it the first of a sentence?
    """

    text: str
    lemma: str
    pos: str
    tag: str
    head: int
    relation: str
    features: dict[str, tuple[str, ...]] = field(default_factory=dict)
    space: bool = True
    opens: bool = False


@dataclass(slots=True)
class Parse:
    """The tokens of a text. Every sentence is a tree."""

    tokens: list[Token]

    def sentences(self) -> list[range]:
        """The places of each sentence, tokens of white space included."""
        starts = [place for place, token in enumerate(self.tokens) if token.opens]
        return [range(start, end) for start, end in pairwise([*starts, len(self.tokens)])]

    def dependents(self, place: int, relations: Iterable[str]) -> list[int]:
        """The places, in order, of what a token governs by one of some relations."""
        wanted = frozenset(relations)
        return [
            other
            for other, token in enumerate(self.tokens)
            if token.head == place and other != place and token.relation in wanted
        ]

    def find(self, words: str) -> tuple[int, int]:
        """Where a term, its words parted by spaces, stands first: the place of its first word, and one past its last.

        Raises LookupError where it doesn't stand in the text.
        """
        wanted = words.lower().split()
        places = [place for place, token in enumerate(self.tokens) if token.pos != SPACE]
        for first in range(len(places) - len(wanted) + 1):
            window = places[first : first + len(wanted)]
            if [self.tokens[place].text.lower() for place in window] == wanted:
                return window[0], window[-1] + 1
        raise LookupError(words)
