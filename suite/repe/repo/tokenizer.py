"""Words as tokens."""

from collections.abc import Sequence


class WordTokenizer:
    """Splits at spaces; every word must be in the list."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self.ids = {word: number for number, word in enumerate(self.words)}

    def encode(self, text: str) -> list[int]:
        """The ids of a text's words. Raises KeyError for one that is not in the list."""
        return [self.ids[word] for word in text.split()]
