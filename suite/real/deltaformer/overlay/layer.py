"""A layer of DeltaFormer attention, whose strengths come from the token."""

import torch
from fla.ops.deltaformer.naive import naive_deltaformer_attn
from torch import Tensor, nn


class DeltaFormerLayer(nn.Module):
    """States (B, T, width) to states of the same shape. With `corrects` False nothing is taken out: it is attention."""

    def __init__(self, width: int, heads: int, channels: int, corrects: bool = True) -> None:
        super().__init__()
        self.heads, self.corrects = heads, corrects
        self.query = nn.Linear(width, heads * channels, bias=False)
        self.key = nn.Linear(width, heads * channels, bias=False)
        self.value = nn.Linear(width, heads * channels, bias=False)
        self.strength = nn.Linear(width, heads)
        self.output = nn.Linear(heads * channels, width, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        q, k, v = (part(states).unflatten(-1, (self.heads, -1)) for part in (self.query, self.key, self.value))
        beta = torch.sigmoid(self.strength(states))
        if not self.corrects:
            beta = torch.zeros_like(beta)
        return self.output(naive_deltaformer_attn(q, k, v, beta).flatten(2))
