"""Word pieces: a known word is one piece, another is split into known beginnings and continuations."""

import string
from collections.abc import Iterable

CLS, SEP, PAD = "[CLS]", "[SEP]", "[PAD]"
MARKERS = (CLS, SEP, PAD)
PUNCTUATION = frozenset(string.punctuation)
# What a piece starts with that continues the word of the piece before it.
CONTINUATION = "##"


class WordPieceTokenizer:
    """Greedy longest-match word pieces over a list of pieces; single letters always match."""

    def __init__(self, pieces: Iterable[str]) -> None:
        letters = [prefix + letter for prefix in ("", CONTINUATION) for letter in string.ascii_lowercase]
        self.vocabulary = list(dict.fromkeys([*MARKERS, *sorted(PUNCTUATION), *letters, *pieces]))
        self._ids = {piece: number for number, piece in enumerate(self.vocabulary)}

    def tokenize(self, text: str) -> list[str]:
        """The pieces of a text between CLS and SEP; every punctuation mark is a piece of its own."""
        spaced = "".join(f" {letter} " if letter in PUNCTUATION else letter for letter in text.lower())
        return [CLS, *(piece for word in spaced.split() for piece in self._split(word)), SEP]

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """Rows of the vocabulary."""
        return [self._ids[token] for token in tokens]

    def _split(self, word: str) -> list[str]:
        pieces, start = [], 0
        while start < len(word):
            prefix, end = CONTINUATION if start else "", len(word)
            while prefix + word[start:end] not in self._ids:
                end -= 1
            pieces.append(prefix + word[start:end])
            start = end
        return pieces
