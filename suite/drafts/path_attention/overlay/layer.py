"""A layer of PaTH attention: directions, strengths and gates come from the token; heads of queries share keys."""

import torch
from fla.ops.path_attn.naive import naive_path_attn
from torch import Tensor, nn
from torch.nn import functional as F


class PathLayer(nn.Module):
    """States (B, T, width) to states of the same shape. With `follows` False all transformations are the identity."""

    def __init__(
        self, width: int, heads: int, query_heads: int, channels: int, follows: bool = True, chunk_size: int = 4
    ) -> None:
        super().__init__()
        self.heads, self.query_heads, self.follows, self.chunk_size = heads, query_heads, follows, chunk_size
        self.query = nn.Linear(width, query_heads * channels, bias=False)
        self.key = nn.Linear(width, heads * channels, bias=False)
        self.value = nn.Linear(width, heads * channels, bias=False)
        self.direction = nn.Linear(width, heads * channels, bias=False)
        self.strength = nn.Linear(width, heads)
        self.gate = nn.Linear(width, query_heads)
        self.output = nn.Linear(query_heads * channels, width, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        q = self.query(states).unflatten(-1, (self.query_heads, -1))
        k = self.key(states).unflatten(-1, (self.heads, -1))
        v = self.value(states).unflatten(-1, (self.heads, -1))
        w = F.normalize(self.direction(states).unflatten(-1, (self.heads, -1)), dim=-1)
        beta = 2 * torch.sigmoid(self.strength(states))
        if not self.follows:
            beta = torch.zeros_like(beta)
        scale = q.shape[-1] ** -0.5
        g = F.logsigmoid(self.gate(states) + 3) / scale
        read = naive_path_attn(q, k, v, w, beta, g, scale, chunk_size=self.chunk_size)
        return self.output(read.flatten(2))
