"""A layer of gated slot attention, with one query head or several for each head of the memory."""

import torch
from fla.ops.gsa.naive import naive_recurrent_gsa
from torch import nn
from torch.nn import functional as F


class GatedSlots(nn.Module):
    """Projects tokens to queries, keys, values and gates; a token writes to a slot what the slot forgets."""

    def __init__(self, width: int, slots: int, heads: int = 2, groups: int = 1, temperature: float = 8.0) -> None:
        super().__init__()
        self.slots, self.heads, self.temperature = slots, heads, temperature
        self.query = nn.Linear(width, groups * width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, heads * slots, bias=False)
        self.norm = nn.RMSNorm(groups * width)
        self.output = nn.Linear(groups * width, width, bias=False)

    def forward(self, x, state=None):
        """Tokens (batch, length, width), and the state that the call on the tokens before them has returned."""
        size = x.shape[-1] // self.heads
        q = F.silu(self.query(x)).unflatten(-1, (-1, size))
        k = F.silu(self.key(x)).unflatten(-1, (self.heads, size))
        v = F.silu(self.value(x)).unflatten(-1, (self.heads, size))
        # A temperature above 1 draws the gates towards 1, so that slots keep what they hold.
        g = F.logsigmoid(self.gate(x).unflatten(-1, (self.heads, self.slots))) / self.temperature
        s = -torch.expm1(g)
        o, state = naive_recurrent_gsa(q, k, v, s, g, initial_state=state, output_final_state=True)
        return self.output(self.norm(o.flatten(-2))), state
