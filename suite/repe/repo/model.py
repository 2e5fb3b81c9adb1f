"""A small transformer whose embeddings hold a concept in one direction, among much that is not the concept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class ModelConfig:
    """width: of the hidden states. concept: how far words with and without the concept lie apart."""

    words: int
    width: int = 24
    layers: int = 3
    concept: float = 0.5


class TinyTransformer(nn.Module):
    """Residual attention, and a feed-forward part; random weights, and a planted concept."""

    def __init__(self, config: ModelConfig, amounts: Tensor, seed: int) -> None:
        """amounts: how much of the concept each word holds, (words,)."""
        super().__init__()
        generator = torch.Generator().manual_seed(seed)

        def draw(*shape: int) -> Tensor:
            return torch.randn(shape, generator=generator, dtype=torch.float64) / shape[-1] ** 0.5

        direction = F.normalize(draw(config.width), dim=0)
        self.embedding = draw(config.words, config.width) + config.concept * amounts[:, None] * direction
        self.attention = [draw(config.width, config.width) for _ in range(config.layers)]
        self.mixing = [0.5 * draw(config.width, config.width) for _ in range(config.layers)]

    def forward(self, ids: Tensor, edits: Mapping[int, Callable[[Tensor], Tensor]] | None = None) -> list[Tensor]:
        """Hidden states of the embedding and of each layer, each (batch, length, width).

        edits: layer to a change of hidden states, which the next layer then sees.
        """
        states = [self.embedding[ids]]
        for layer, (attention, mixing) in enumerate(zip(self.attention, self.mixing, strict=True), start=1):
            x = states[-1]
            weights = torch.softmax(x @ attention @ x.transpose(1, 2), dim=-1)
            x = x + weights @ x
            x = F.layer_norm(x + torch.tanh(x @ mixing), x.shape[-1:])
            if edits and layer in edits:
                x = edits[layer](x)
            states.append(x)
        return states
