"""Small encoders of token ids, with dropout."""

import torch
from sentence_transformers import SentenceTransformer
from torch import nn


class BagOfWords(nn.Module):
    """The mean of the embeddings of the tokens that the mask keeps."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)

    def forward(self, features):
        kept = features["attention_mask"].unsqueeze(-1).to(self.words.weight.dtype)
        total = (self.words(features["input_ids"]) * kept).sum(dim=1)
        return features | {"sentence_embedding": total / kept.sum(dim=1).clamp(min=1)}


class Layer(nn.Module):
    """Dropout, a linear layer and a hyperbolic tangent."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(width, width)

    def forward(self, features):
        inner = self.linear(self.dropout(features["sentence_embedding"]))
        return features | {"sentence_embedding": torch.tanh(inner)}


def encoder(words: int, width: int, dropout: float, layers: int = 1) -> SentenceTransformer:
    return SentenceTransformer(BagOfWords(words, width), *(Layer(width, dropout) for _ in range(layers)))
