"""A small decoder-only transformer after LLaMA, from which every layer can exit early.

Layer 0 is the word embeddings, layer j the output of the j-th block. Each exit goes through the same last norm and
the same vocabulary head.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dola.config import ModelConfig


class RMSNorm(nn.Module):
    """Divides each vector by its root mean square, and scales each of its entries."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(size, dtype=torch.float64))

    def forward(self, states: Tensor) -> Tensor:
        return states * torch.rsqrt(states.square().mean(dim=-1, keepdim=True) + self.eps) * self.weight


class Attention(nn.Module):
    """Causal attention in several heads, with rotary positions."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.project_in = _linear(config.hidden, 3 * config.hidden)
        self.project_out = _linear(config.hidden, config.hidden)

    def forward(self, states: Tensor, rotation: tuple[Tensor, Tensor], visible: Tensor) -> Tensor:
        batch, length, hidden = states.shape
        parts = self.project_in(states).view(batch, length, 3, self.heads, hidden // self.heads)
        parts = parts.permute(2, 0, 3, 1, 4)
        (queries, keys), values = _rotate(parts[:2], rotation), parts[2]
        mixed = F.scaled_dot_product_attention(queries, keys, values, visible)
        return self.project_out(mixed.transpose(1, 2).reshape(batch, length, hidden))


class Block(nn.Module):
    """Attention and a gated feed-forward layer, each on normed states and each added to the residual stream."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.hidden, config.norm_eps)
        self.attention = Attention(config)
        self.feedforward_norm = RMSNorm(config.hidden, config.norm_eps)
        self.gate_and_up = _linear(config.hidden, 2 * config.feedforward)
        self.down = _linear(config.feedforward, config.hidden)

    def forward(self, states: Tensor, rotation: tuple[Tensor, Tensor], visible: Tensor) -> Tensor:
        states = states + self.attention(self.attention_norm(states), rotation, visible)
        gate, up = self.gate_and_up(self.feedforward_norm(states)).chunk(2, dim=-1)
        return states + self.down(F.silu(gate) * up)


class EarlyExitLM(nn.Module):
    """A language model whose layers all predict the next token. Its weights are drawn from the configuration's seed."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden, dtype=torch.float64)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.num_layers)])
        self.norm = RMSNorm(config.hidden, config.norm_eps)
        self.head = _linear(config.hidden, config.vocab_size)
        generator = torch.Generator().manual_seed(config.seed)
        with torch.no_grad():
            for parameter in self.parameters():
                if parameter.dim() > 1:
                    deviation = parameter.shape[1] ** -0.5
                    parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * deviation)

    def forward(self, input_ids: Tensor, early_exit_layers: Sequence[int]) -> dict[int, Tensor]:
        """Next-token logits of some layers.

        input_ids: (batch, length). Padding before or after a row changes nothing for its other tokens.
        early_exit_layers: each layer from 0 to `num_layers` may be asked for, the last one included.

        Returns, for each layer asked for and in no particular order, the logits of the token that follows each
        position, of shape (batch, length, vocabulary). They are raw outputs of the head and not normalized.
        """
        real = input_ids != self.config.pad_id
        length = input_ids.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool).tril()
        # A padded position sees itself, so that its softmax is not empty.
        visible = (causal & real.unsqueeze(1)) | torch.eye(length, dtype=torch.bool)
        rotation = self._rotation(real)
        states = self.embedding(input_ids)
        hidden = {0: states}
        for layer, block in enumerate(self.blocks, start=1):
            states = hidden[layer] = block(states, rotation, visible.unsqueeze(1))
        logits = self.head(self.norm(torch.stack([hidden[layer] for layer in early_exit_layers])))
        return dict(zip(early_exit_layers, logits, strict=True))

    def _rotation(self, real: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines of the rotary angles, for positions that count a row's own tokens."""
        positions = real.cumsum(dim=1).clamp(min=1) - 1
        half = self.config.hidden // self.config.heads // 2
        frequencies = self.config.rotary_base ** (-torch.arange(half, dtype=torch.float64) / half)
        angles = positions.unsqueeze(-1) * frequencies
        return angles.cos().unsqueeze(1), angles.sin().unsqueeze(1)


def _linear(size_in: int, size_out: int) -> nn.Linear:
    return nn.Linear(size_in, size_out, bias=False, dtype=torch.float64)


def _rotate(vectors: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    cosines, sines = rotation
    first, second = vectors.chunk(2, dim=-1)
    return torch.cat([first * cosines - second * sines, second * cosines + first * sines], dim=-1)
