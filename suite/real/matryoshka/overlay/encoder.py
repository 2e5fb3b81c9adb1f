"""A small encoder of token ids, and a contrastive loss that calls it."""

import torch
from sentence_transformers import SentenceTransformer
from torch import nn


class Tokens(nn.Module):
    """An embedding of each token."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)

    def forward(self, features):
        return features | {"token_embeddings": self.words(features["input_ids"])}


class Mean(nn.Module):
    """The mean over the tokens, after dropout and a linear layer."""

    def __init__(self, width: int, out: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(width, out)

    def forward(self, features):
        return features | {"sentence_embedding": self.linear(self.dropout(features["token_embeddings"].mean(dim=1)))}


def encoder(words: int, width: int, out: int, dropout: float = 0.0) -> SentenceTransformer:
    return SentenceTransformer(Tokens(words, width), Mean(width, out, dropout))


class InBatch(nn.Module):
    """Each row of the first column shall find the row of the second column at its place, among all rows there."""

    def __init__(self, model: nn.Module, scale: float = 10.0) -> None:
        super().__init__()
        self.model, self.scale = model, scale

    def forward(self, sentence_features, labels):
        a, b = (self.model(features)["sentence_embedding"] for features in sentence_features)
        return nn.functional.cross_entropy(self.scale * a @ b.T, torch.arange(len(a)))
