"""A causal language model that is small enough to train in a second."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of the model."""

    vocabulary: int
    width: int = 32
    heads: int = 2
    longest: int = 16


class TinyLM(nn.Module):
    """One transformer layer: position t predicts token t + 1."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocabulary, config.width)
        self.positions = nn.Embedding(config.longest, config.width)
        self.attention_norm = nn.LayerNorm(config.width)
        self.attention_in = nn.Linear(config.width, 3 * config.width)
        self.attention_out = nn.Linear(config.width, config.width)
        self.mlp_norm = nn.LayerNorm(config.width)
        self.mlp = nn.Sequential(
            nn.Linear(config.width, 2 * config.width), nn.GELU(), nn.Linear(2 * config.width, config.width)
        )
        self.head = nn.Linear(config.width, config.vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of shape (batch, length, vocabulary) for tokens of shape (batch, length), padded on the right."""
        states = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        states = states + self._attend(self.attention_norm(states))
        states = states + self.mlp(self.mlp_norm(states))
        return self.head(states)

    def _attend(self, states: Tensor) -> Tensor:
        batch, length, width = states.shape
        split = self.attention_in(states).view(batch, length, 3, self.config.heads, -1)
        queries, keys, values = split.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        return self.attention_out(mixed.transpose(1, 2).reshape(batch, length, width))


def build_model(config: ModelConfig, seed: int) -> TinyLM:
    """A model whose weights depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return TinyLM(config)
