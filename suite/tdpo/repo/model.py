"""A causal transformer that is small enough to train in a fraction of a second."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of the model."""

    vocabulary: int
    width: int = 16
    heads: int = 2
    layers: int = 1
    longest: int = 16


class Block(nn.Module):
    """Causal self-attention and a feed-forward layer, each after a layer norm and beside a residual."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.attention_norm = nn.LayerNorm(config.width)
        self.project_in = nn.Linear(config.width, 3 * config.width, bias=False)
        self.project_out = nn.Linear(config.width, config.width, bias=False)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(config.width),
            nn.Linear(config.width, 2 * config.width),
            nn.GELU(),
            nn.Linear(2 * config.width, config.width),
        )

    def forward(self, states: Tensor) -> Tensor:
        batch, length, width = states.shape
        projected = self.project_in(self.attention_norm(states))
        query, key, value = projected.view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        states = states + self.project_out(mixed.transpose(1, 2).reshape(batch, length, width))
        return states + self.feed_forward(states)


class TinyLM(nn.Module):
    """Token and position embeddings, blocks, an output layer: position t predicts token t + 1."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocabulary, config.width)
        self.positions = nn.Embedding(config.longest, config.width)
        self.blocks = nn.Sequential(*(Block(config) for _ in range(config.layers)))
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of shape (batch, length, vocabulary) for tokens of shape (batch, length), padded on the right."""
        states = self.embed(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.norm(self.blocks(states)))


def build_model(config: ModelConfig, seed: int) -> TinyLM:
    """A model whose weights depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return TinyLM(config)
