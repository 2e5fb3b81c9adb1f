"""Texts as vectors: counts of hashed character n-grams, each with a sign of its own. Deterministic, and offline."""

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

# The paper reduces its embeddings to as many.
DIMENSIONS = 200
_LENGTHS = (2, 3)


def embed(texts: Sequence[str]) -> NDArray[np.float64]:
    """Vectors of shape (texts, DIMENSIONS). Not of unit length; a text without a letter or digit has zeros.

    A text is lowered first. Its words are runs of characters for which `str.isalnum` holds, each between `<` and `>`.
    An n-gram of a word, for each n in `_LENGTHS`, has its place at the `crc32` of its UTF-8 bytes modulo `DIMENSIONS`.
    It adds 1 there if bit 16 of the `crc32` is set, and -1 otherwise.
    """
    vectors = np.zeros((len(texts), DIMENSIONS))
    for vector, text in zip(vectors, texts, strict=True):
        words = "".join(letter if letter.isalnum() else " " for letter in text.lower()).split()
        for word in words:
            marked = f"<{word}>"
            for length in _LENGTHS:
                for start in range(len(marked) - length + 1):
                    code = crc32(marked[start : start + length].encode())
                    vector[code % DIMENSIONS] += 1.0 if code >> 16 & 1 else -1.0
    return vectors
