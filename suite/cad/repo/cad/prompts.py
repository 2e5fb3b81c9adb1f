"""How a prompt is laid out, and how prompts of unequal length form a batch."""

from collections.abc import Sequence

import torch
from torch import Tensor

from cad.tokenizer import WordTokenizer


def build_prompt(tokenizer: WordTokenizer, query: str, context: str = "") -> list[int]:
    """Start token, context, query. Without a context the query follows the start token at once."""
    return [tokenizer.bos_id, *tokenizer.encode(context), *tokenizer.encode(query)]


def left_pad(rows: Sequence[Sequence[int]], pad_id: int) -> Tensor:
    """Rows of ids as one tensor (batch, length of the longest), the shorter ones padded at their start."""
    width = max((len(row) for row in rows), default=0)
    padded = [[pad_id] * (width - len(row)) + list(row) for row in rows]
    return torch.tensor(padded, dtype=torch.long).reshape(len(rows), width)
