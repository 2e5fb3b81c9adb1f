"""Texts of unequal length as one batch."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from moverscore.encoder import TinyEncoder


class Batch(NamedTuple):
    """Texts as the encoder sees them, padded at their end to the length of the longest one.

    embedding: hidden states of every layer, (layers, batch, length, width).
    idf: weights of the tokens, 0 for padding, (batch, length).
    tokens: one list for each text, not padded.
    """

    embedding: Tensor
    idf: Tensor
    tokens: list[list[str]]


def collate(sentences: list[list[str]], encoder: TinyEncoder, weight: Callable[[str], float]) -> Batch:
    """Encode and weigh tokenized texts."""
    idf = [torch.tensor([weight(token) for token in tokens]) for tokens in sentences]
    return Batch(encoder.encode(sentences), pad_sequence(idf, batch_first=True), sentences)
