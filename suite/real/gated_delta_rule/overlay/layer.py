"""A layer of the gated delta rule: projections, gates, strengths, and a gated norm of what is read."""

import torch
from fla.ops.gated_delta_rule.naive import naive_recurrent_gated_delta_rule
from torch import Tensor, nn
from torch.nn import functional as F


class GatedDelta(nn.Module):
    """States (B, T, width) to states. With `gated` False nothing is forgotten as a whole, which is the delta rule."""

    def __init__(self, width: int, heads: int, key_width: int, value_width: int, gated: bool = True) -> None:
        super().__init__()
        self.heads, self.gated = heads, gated
        self.query = nn.Linear(width, heads * key_width, bias=False)
        self.key = nn.Linear(width, heads * key_width, bias=False)
        self.value = nn.Linear(width, heads * value_width, bias=False)
        self.strength = nn.Linear(width, heads)
        self.decay = nn.Linear(width, heads)
        self.rate = nn.Parameter(torch.zeros(heads))
        self.gate = nn.Linear(width, heads * value_width, bias=False)
        self.norm = nn.RMSNorm(value_width, eps=1e-2)
        self.output = nn.Linear(heads * value_width, width, bias=False)

    def gates(self, states: Tensor) -> Tensor:
        """Logarithms of the gates, (B, T, heads), none above 0."""
        log_gates = -self.rate.exp() * F.softplus(self.decay(states))
        return log_gates if self.gated else 0 * log_gates

    def forward(self, states: Tensor, memory: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The states after the layer, and the memory from which a later call goes on."""

        def heads(projected: Tensor) -> Tensor:
            return projected.unflatten(-1, (self.heads, -1))

        q = F.normalize(F.silu(heads(self.query(states))), dim=-1)
        k = F.normalize(F.silu(heads(self.key(states))), dim=-1)
        v = F.silu(heads(self.value(states)))
        beta = self.strength(states).sigmoid()
        read, memory = naive_recurrent_gated_delta_rule(
            q, k, v, beta, self.gates(states), initial_state=memory, output_final_state=True
        )
        read = self.norm(read) * F.silu(heads(self.gate(states)))
        return self.output(read.flatten(2)), memory
