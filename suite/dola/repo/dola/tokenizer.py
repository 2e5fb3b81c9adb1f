"""A word-level tokenizer, and batches of prompts."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

PAD, BOS, EOS, UNKNOWN = "<pad>", "<s>", "</s>", "<unk>"


class WordTokenizer:
    """Splits texts at white space. The special tokens have the lowest ids."""

    def __init__(self, words: Iterable[str]) -> None:
        self._tokens = [PAD, BOS, EOS, UNKNOWN, *sorted(set(words))]
        self._ids = {token: number for number, token in enumerate(self._tokens)}
        self.pad_id, self.bos_id, self.eos_id, self.unknown_id = (
            self._ids[token] for token in (PAD, BOS, EOS, UNKNOWN)
        )

    def __len__(self) -> int:
        return len(self._tokens)

    def encode(self, text: str) -> list[int]:
        """The ids of the words, without special tokens around them."""
        return [self._ids.get(word, self.unknown_id) for word in text.split()]

    def encode_prompt(self, text: str) -> list[int]:
        """The start token and the words: what a continuation follows."""
        return [self.bos_id, *self.encode(text)]

    def decode(self, ids: Sequence[int]) -> str:
        """The words up to the end token, without special tokens."""
        words = []
        for number in ids:
            if number == self.eos_id:
                break
            if number not in (self.pad_id, self.bos_id):
                words.append(self._tokens[number])
        return " ".join(words)


def left_pad(rows: Sequence[Sequence[int]], pad_id: int) -> Tensor:
    """Rows of ids as one tensor (batch, longest length), with padding before the shorter ones."""
    width = max(len(row) for row in rows)
    return torch.tensor([[pad_id] * (width - len(row)) + list(row) for row in rows], dtype=torch.long)
