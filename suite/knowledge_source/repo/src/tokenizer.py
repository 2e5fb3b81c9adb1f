"""A tokenizer with a token for each word and each mark."""

import re
from collections.abc import Iterable

_UNKNOWN = "<unk>"
_WORDS = re.compile(r"\w+|[^\w\s]")
STOP = "."


class Tokenizer:
    """Words that it was not built from become one unknown token. Tokens have numbers in the order of appearance."""

    def __init__(self, texts: Iterable[str]) -> None:
        words = [word for text in texts for word in _WORDS.findall(text)]
        self.words = list(dict.fromkeys([_UNKNOWN, STOP, *words]))
        self._ids = {word: place for place, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, text: str) -> list[int]:
        """The numbers of a text's tokens."""
        return [self._ids.get(word, 0) for word in _WORDS.findall(text)]

    def decode(self, token_ids: Iterable[int]) -> str:
        """The text of tokens, with a space before each word and none before marks."""
        words = [self.words[token] for token in token_ids]
        return "".join(word if not word[0].isalnum() else f" {word}" for word in words).strip()
