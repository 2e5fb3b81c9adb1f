"""Time mixing of RWKV-7 for one layer: shifted tokens, decays, learning rates in context, and a gated read-out."""

import torch
from fla.ops.generalized_delta_rule.dplr.naive import dplr_recurrence
from torch import Tensor, nn
from torch.nn import functional as F


class TimeMixing(nn.Module):
    """States (B, T, width) to states of the same shape. With `removing` False nothing is taken out of the memory."""

    def __init__(self, width: int, heads: int, removing: bool = True) -> None:
        super().__init__()
        self.heads, self.removing = heads, removing
        self.shift = nn.Parameter(torch.full((6, width), 0.5))
        names = ("receptance", "key", "value", "rate", "decay", "gate")
        self.projections = nn.ModuleDict(
            {name: nn.Linear(width, width, bias=name in ("rate", "decay")) for name in names}
        )
        self.removal = nn.Parameter(torch.ones(width))
        self.replacement = nn.Parameter(torch.full((width,), 0.5))
        self.bonus = nn.Parameter(torch.full((width,), 0.1))
        self.norm = nn.GroupNorm(heads, width, eps=1e-2)
        self.output = nn.Linear(width, width, bias=False)

    def rates(self, tokens: Tensor) -> Tensor:
        """Learning rates in context, between 0 and 1, one for each channel."""
        return self.projections["rate"](tokens).sigmoid()

    def log_decays(self, tokens: Tensor) -> Tensor:
        """Logarithms of the decays, between -exp(-0.5) and 0."""
        return -(torch.tensor(-0.5).exp()) * self.projections["decay"](tokens).sigmoid()

    def forward(self, states: Tensor, memory: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The states after the layer, and the memory from which a later call goes on."""
        before = F.pad(states, (0, 0, 1, -1))
        mixed = [torch.lerp(states, before, share) for share in self.shift]
        r, k, v = (
            self.projections[name](token) for name, token in zip(("receptance", "key", "value"), mixed, strict=False)
        )
        rate, log_decay = self.rates(mixed[3]), self.log_decays(mixed[4])
        gate = self.projections["gate"](mixed[5]).sigmoid()

        def heads(vectors: Tensor) -> Tensor:
            return vectors.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        # The key that looks up what is to be removed, and the one under which the value is written.
        removed = F.normalize(heads(k * self.removal), dim=-1)
        written = heads(torch.lerp(k, k * rate, self.replacement))
        rate = heads(rate) if self.removing else 0 * heads(rate)
        read, memory = dplr_recurrence(
            heads(r) * removed.shape[-1] ** 0.5,
            written,
            heads(v),
            -removed,
            removed * rate,
            heads(log_decay),
            initial_state=memory,
        )
        read = self.norm(read.transpose(1, 2).flatten(0, 1).flatten(1)).view_as(states)
        own = (heads(r * self.bonus) * written).sum(-1, keepdim=True) * heads(v)
        return self.output(gate * (read + own.transpose(1, 2).flatten(2))), memory
