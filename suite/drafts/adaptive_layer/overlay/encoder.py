"""An encoder of token ids, and a contrastive loss that calls it."""

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Pooling, Transformer
from torch import nn
from torch.nn import functional as F


def encoder(words: int, width: int, layers: int, dropout: float = 0.0) -> SentenceTransformer:
    return SentenceTransformer(Transformer(words, width, layers, dropout), Pooling())


class InBatch(nn.Module):
    """Each row of the first column shall find the row of the second column at its place, among all rows there."""

    def __init__(self, model: nn.Module, scale: float = 10.0) -> None:
        super().__init__()
        self.model, self.scale = model, scale

    def forward(self, sentence_features, labels):
        columns = [self.model(features)["sentence_embedding"] for features in sentence_features]
        a, b = (F.normalize(column, dim=1) for column in columns)
        return F.cross_entropy(self.scale * a @ b.T, torch.arange(len(a)))
