"""A stack of layers whose inputs are sums of what is below, or attention over it."""

import torch
from fla.ops.attnres.naive import naive_attnres
from torch import Tensor, nn


class Mixer(nn.Module):
    """What one layer needs for its attention over depth. The query starts at zero."""

    def __init__(self, width: int, prenorm: bool) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.zeros(width))
        self.key_norm = nn.Parameter(torch.ones(width))
        self.prenorm = nn.Parameter(torch.ones(width)) if prenorm else None

    def forward(self, sources: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Sources (..., width) to the input of a layer and its depth weights."""
        return naive_attnres(self.query, sources, self.key_norm, self.prenorm, scale=2.0, return_weights=True)


class Stack(nn.Module):
    """Vectors (..., width) to logits (..., classes)."""

    def __init__(self, width: int, depth: int, classes: int, attention: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.mixers = nn.ModuleList(Mixer(width, prenorm=True) for _ in range(depth)) if attention else None
        self.last = Mixer(width, prenorm=False) if attention else None
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Logits, the state before the head, and the depth weights of the head (depth + 1, ...)."""
        sources = [x]
        for number, layer in enumerate(self.layers):
            if self.mixers is None:
                total = torch.stack(sources).sum(0)
                state = nn.functional.rms_norm(total, total.shape[-1:])
            else:
                state, _ = self.mixers[number](sources)
            sources.append(2 * layer(state).tanh())
        if self.last is None:
            state, weights = torch.stack(sources).sum(0), None
        else:
            state, weights = self.last(sources)
        return self.head(state), state, weights
