"""A stub: a tokenizer and an encoder that need no download."""

import os
import string
import zlib
from pathlib import Path

from .modeling import PIECES, BertModel, BertPreTrainedModel

__all__ = ["BertModel", "BertPreTrainedModel", "BertTokenizer"]

# Where the package looks for what it has downloaded.
os.environ["MOVERSCORE"] = str(Path(__file__).parent / "model")


class BertTokenizer:
    """Words are lowered, marks are tokens of their own, and a word of more than six letters becomes two pieces."""

    _SPECIAL = ("[PAD]", "[CLS]", "[SEP]")

    def __init__(self, max_len=64):
        self.max_len = max_len

    @classmethod
    def from_pretrained(cls, folder, do_lower_case=True):
        return cls()

    def tokenize(self, text):
        pieces = []
        for word in text.lower().replace("...", " \u2026 ").split():
            if word == "\u2026":
                pieces.append("...")
                continue
            for mark in string.punctuation:
                word = word.replace(mark, f" {mark} ")
            for part in word.split():
                pieces += [part[:6], "##" + part[6:]] if len(part) > 6 else [part]
        return pieces

    def convert_tokens_to_ids(self, tokens):
        first = len(self._SPECIAL)
        return [
            self._SPECIAL.index(token)
            if token in self._SPECIAL
            else first + zlib.crc32(token.encode()) % (PIECES - first)
            for token in tokens
        ]
