"""Sentences of unequal length as one batch."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from bert_score.encoder import ContextEncoder


class Batch(NamedTuple):
    """Padded sentences: embeddings (batch, length, width), masks (batch, length) with 1 for a token, 0 for padding, and
    idf weights (batch, length) in the dtype of the embeddings. What both hold at padding means nothing.
    """

    embedding: Tensor
    masks: Tensor
    idf: Tensor


def collate(sentences: Sequence[Sequence[str]], encoder: ContextEncoder, weight: Callable[[str], float]) -> Batch:
    """Encode tokenized sentences and pad them at their end."""
    lengths = torch.tensor([len(pieces) for pieces in sentences])
    embedding = pad_sequence(
        [encoder.encode(list(pieces)) for pieces in sentences], batch_first=True, padding_value=0.3
    )
    idf = pad_sequence(
        [torch.tensor([weight(piece) for piece in pieces], dtype=embedding.dtype) for pieces in sentences],
        batch_first=True,
    )
    masks = torch.arange(embedding.shape[1]) < lengths.unsqueeze(1)
    return Batch(embedding, masks.long(), idf)
