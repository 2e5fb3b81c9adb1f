"""Word pieces: a known word is one piece, another is split into known beginnings and continuations."""

from collections.abc import Iterable

CLS, SEP = "[CLS]", "[SEP]"


class WordPieceTokenizer:
    """Greedy longest-match word pieces over a list of words; single letters always match."""

    def __init__(self, words: Iterable[str]) -> None:
        self._known = set(words)

    def tokenize(self, text: str) -> list[str]:
        """The pieces of a text between the two special tokens; a continuation starts with ##."""
        pieces = [piece for word in text.lower().split() for piece in self._split(word)]
        return [CLS, *pieces, SEP]

    def _split(self, word: str) -> list[str]:
        pieces, start = [], 0
        while start < len(word):
            end = len(word)
            while end > start + 1 and word[start:end] not in self._known:
                end -= 1
            pieces.append(("##" if start else "") + word[start:end])
            start = end
        return pieces
