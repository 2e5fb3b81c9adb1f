"""A layer of Gated DeltaNet-2: projections, decays and gates."""

from fla.ops.gdn2.naive import naive_recurrent_gdn2
from torch import Tensor, nn
from torch.nn import functional as F


class GatedDelta2(nn.Module):
    """States (B, T, width) to states."""

    def __init__(self, width: int, heads: int, key_width: int, value_width: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, heads * key_width, bias=False)
        self.key = nn.Linear(width, heads * key_width, bias=False)
        self.value = nn.Linear(width, heads * value_width, bias=False)
        self.decay = nn.Linear(width, heads * key_width)
        self.erase = nn.Linear(width, heads * key_width)
        self.write = nn.Linear(width, heads * value_width)
        self.output = nn.Linear(heads * value_width, width, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        def split(projected: Tensor) -> Tensor:
            return projected.unflatten(-1, (self.heads, -1))

        read, _ = naive_recurrent_gdn2(
            q=F.normalize(F.silu(split(self.query(states))), dim=-1),
            k=F.normalize(F.silu(split(self.key(states))), dim=-1),
            v=split(self.value(states)),
            g=F.logsigmoid(split(self.decay(states)) + 4),
            b=split(self.erase(states)).sigmoid(),
            w=split(self.write(states)).sigmoid(),
        )
        return self.output(read.flatten(2))
