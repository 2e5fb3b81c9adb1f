"""Log-linear attention with gates: scales and gates come from the token; heads share keys and queries."""

import math

import torch
from fla.ops.log_linear_attn.naive import naive_log_linear_attn
from torch import Tensor, nn
from torch.nn import functional as F


class LogLinear(nn.Module):
    """States (B, T, width) to states of the same shape, T up to `longest`; all levels alike if not `levelled`."""

    def __init__(self, width: int, groups: int, heads: int, channels: int, longest: int, levelled: bool = True) -> None:
        super().__init__()
        self.groups, self.heads, self.levelled = groups, heads, levelled
        self.levels = math.ceil(math.log2(longest)) + 1
        self.query = nn.Linear(width, groups * channels, bias=False)
        self.key = nn.Linear(width, groups * channels, bias=False)
        self.value = nn.Linear(width, heads * channels, bias=False)
        self.decay = nn.Linear(width, heads)
        self.level = nn.Linear(width, heads * self.levels)
        self.norm = nn.RMSNorm(channels, eps=1e-2)
        self.output = nn.Linear(heads * channels, width, bias=False)

    def scales(self, states: Tensor) -> Tensor:
        """Scales of levels, (B, T, heads, levels), above 0."""
        scales = F.softplus(self.level(states)).unflatten(-1, (self.heads, self.levels))
        return scales if self.levelled else torch.ones_like(scales)

    def forward(self, states: Tensor) -> Tensor:
        q = F.silu(self.query(states)).unflatten(-1, (self.groups, -1))
        k = F.silu(self.key(states)).unflatten(-1, (self.groups, -1))
        v = self.value(states).unflatten(-1, (self.heads, -1))
        g = -0.1 * F.softplus(self.decay(states))
        read = naive_log_linear_attn(q, k, v, g, self.scales(states), scale=None)
        return self.output(self.norm(read).flatten(2))
