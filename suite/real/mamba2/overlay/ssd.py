"""A layer in the manner of Mamba-2: step sizes, a rate for each head, shared inputs and read-outs, a gated norm."""

import torch
from fla.ops.simple_gla.naive import naive_chunk_simple_gla
from torch import Tensor, nn
from torch.nn import functional as F


class StateSpace(nn.Module):
    """States (B, T, width) to states of the same shape; with `selective` False step sizes are the same for all."""

    def __init__(
        self, width: int, heads: int, state: int, channels: int, chunk: int = 16, selective: bool = True
    ) -> None:
        super().__init__()
        self.heads, self.chunk, self.selective = heads, chunk, selective
        self.sizes = (heads * channels, state, state, heads, heads * channels)
        self.projection = nn.Linear(width, sum(self.sizes), bias=False)
        self.convolution = nn.Conv1d(sum(self.sizes[:3]), sum(self.sizes[:3]), 3, groups=sum(self.sizes[:3]), padding=2)
        self.log_rate = nn.Parameter(torch.linspace(0.0, 1.5, heads))
        self.step_bias = nn.Parameter(torch.linspace(-2.0, 0.0, heads))
        self.skip = nn.Parameter(torch.ones(heads))
        self.norm = nn.RMSNorm(heads * channels, eps=1e-2)
        self.output = nn.Linear(heads * channels, width, bias=False)

    def forward(self, states: Tensor, memory: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The states after the layer, and the memory from which a later call goes on."""
        projected = self.projection(states)
        mixed, step, gate = projected.split([sum(self.sizes[:3]), *self.sizes[3:]], dim=-1)
        mixed = F.silu(self.convolution(mixed.mT)[..., : states.shape[1]].mT)
        x, b, c = mixed.split(self.sizes[:3], dim=-1)
        x = x.unflatten(-1, (self.heads, -1))
        step = F.softplus((step if self.selective else 0 * step) + self.step_bias)
        # One input and one read-out vector for all heads.
        b, c = (item.unsqueeze(2).expand(-1, -1, self.heads, -1) for item in (b, c))
        read, memory = naive_chunk_simple_gla(
            c,
            b,
            step.unsqueeze(-1) * x,
            -step * self.log_rate.exp(),
            initial_state=memory,
            output_final_state=True,
            chunk_size=self.chunk,
            scale=1.0,
        )
        read = (read + self.skip.unsqueeze(-1) * x).flatten(2)
        return self.output(self.norm(read * F.silu(gate))), memory
