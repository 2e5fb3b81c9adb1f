"""Layers of causal attention without an encoding of positions: by breaking sticks, and by softmax for comparison."""

import torch
from fla.ops.stickbreaking_attn.naive import naive_stickbreaking_attn
from torch import nn


class StickBreaking(nn.Module):
    """Attention from what a token asks for to what earlier ones hold; what is left of the stick goes to a vector."""

    def __init__(self, width: int, heads: int = 2, groups: int = 1, attend_current: bool = False) -> None:
        super().__init__()
        self.heads, self.size, self.attend_current = heads, width // heads, attend_current
        self.query = nn.Linear(width, groups * width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.rest = nn.Parameter(0.1 * torch.randn(groups * heads, self.size))
        self.output = nn.Linear(groups * width, width)

    def forward(self, asked, held):
        """Both (batch, length, width): queries come from the first, keys from it too, and values from the second."""
        q = self.query(asked).unflatten(-1, (-1, self.size))
        k = self.key(asked).unflatten(-1, (self.heads, self.size))
        v = self.value(held).unflatten(-1, (self.heads, self.size))
        return self.output(self.attend(q, k, v).flatten(-2))

    def attend(self, q, k, v):
        o, rem = naive_stickbreaking_attn(q, k, v, attend_current=self.attend_current)
        return o + rem.unsqueeze(-1) * self.rest


class Softmax(StickBreaking):
    """The same with a softmax over the earlier tokens and one for which the vector stands, whose score is zero."""

    def attend(self, q, k, v):
        k, v = (item.repeat_interleave(q.shape[2] // item.shape[2], dim=2).transpose(1, 2) for item in (k, v))
        scores = q.transpose(1, 2) @ k.mT / self.size**0.5
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(int(self.attend_current))
        scores = scores.masked_fill(hidden, float("-inf"))
        shares = torch.nn.functional.pad(scores, (1, 0)).softmax(-1)
        return (shares[..., 1:] @ v).transpose(1, 2) + shares[..., :1].transpose(1, 2) * self.rest
