"""A layer of preconditioned KDA: projections, decays and strengths."""

import torch
from fla.ops.precond_kda.naive import naive_recurrent_precond_kda
from torch import Tensor, nn
from torch.nn import functional as F


class PreconditionedDelta(nn.Module):
    """States (B, T, width) to states."""

    def __init__(self, width: int, heads: int, key_width: int, value_width: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, heads * key_width, bias=False)
        self.key = nn.Linear(width, heads * key_width, bias=False)
        self.value = nn.Linear(width, heads * value_width, bias=False)
        self.decay = nn.Linear(width, heads * key_width)
        # Numbers per head and step: decay and strength of the curvature, strength of the memory.
        self.gates = nn.Linear(width, 3 * heads)
        self.centre = nn.Parameter(torch.full((heads,), -0.2))
        self.output = nn.Linear(heads * value_width, width, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        def split(projected: Tensor) -> Tensor:
            return projected.unflatten(-1, (self.heads, -1))

        curvature, curvature_strength, strength = self.gates(states).unflatten(-1, (3, self.heads)).unbind(-2)
        read, _, _ = naive_recurrent_precond_kda(
            q=F.normalize(F.silu(split(self.query(states))), dim=-1),
            k=F.normalize(F.silu(split(self.key(states))), dim=-1),
            v=split(self.value(states)),
            g=F.logsigmoid(split(self.decay(states)) + 4),
            g_atk=F.logsigmoid(curvature + 4),
            beta_atk=curvature_strength.sigmoid(),
            beta=strength.sigmoid(),
            log_atk_scale=self.centre,
        )
        return self.output(read.flatten(2))
