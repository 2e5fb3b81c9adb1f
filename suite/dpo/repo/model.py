"""A causal language model that is small enough to train in a second."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of the model."""

    vocabulary: int = 12
    width: int = 32
    layers: int = 1


class TinyLM(nn.Module):
    """Embeddings, a GRU and an output layer: position t predicts token t + 1."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocabulary, config.width)
        self.encoder = nn.GRU(config.width, config.width, config.layers, batch_first=True)
        self.head = nn.Linear(config.width, config.vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of shape (batch, length, vocabulary) for tokens of shape (batch, length)."""
        states, _ = self.encoder(self.embed(tokens))
        return self.head(states)


def build_model(config: ModelConfig, seed: int) -> TinyLM:
    """A model whose weights depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return TinyLM(config)
