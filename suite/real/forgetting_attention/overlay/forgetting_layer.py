"""A layer around forgetting attention: projections, a forget gate for each query head, and an output."""

import torch
from fla.ops.forgetting_attn.naive import naive_forgetting_attn
from torch import Tensor, nn
from torch.nn import functional as F


class ForgettingAttention(nn.Module):
    """States (B, T, width) to states. With `forgets` False all gates stay open, which is plain causal attention."""

    def __init__(
        self, width: int, heads: int, key_heads: int, head_width: int, window: int | None = None, forgets: bool = True
    ) -> None:
        super().__init__()
        self.heads, self.key_heads, self.head_width = heads, key_heads, head_width
        self.window, self.forgets = window, forgets
        self.query = nn.Linear(width, heads * head_width, bias=False)
        self.key = nn.Linear(width, key_heads * head_width, bias=False)
        self.value = nn.Linear(width, key_heads * head_width, bias=False)
        self.gate = nn.Linear(width, heads)
        self.output = nn.Linear(heads * head_width, width, bias=False)

    def gates(self, states: Tensor) -> Tensor:
        """Logarithms of the forget gates, (B, T, heads)."""
        log_gates = F.logsigmoid(self.gate(states))
        return log_gates if self.forgets else torch.zeros_like(log_gates)

    def forward(self, states: Tensor) -> Tensor:
        q = self.query(states).unflatten(-1, (self.heads, self.head_width))
        k = self.key(states).unflatten(-1, (self.key_heads, self.head_width))
        v = self.value(states).unflatten(-1, (self.key_heads, self.head_width))
        read = naive_forgetting_attn(q, k, v, self.gates(states), window_size=self.window)
        return self.output(read.flatten(2))
