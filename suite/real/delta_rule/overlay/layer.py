"""A layer of the delta rule: projections, strengths, and a norm of what is read."""

from fla.ops.delta_rule.naive import delta_rule_chunkwise
from torch import Tensor, nn
from torch.nn import functional as F


class Delta(nn.Module):
    """States (B, L, width) to states, in chunks of `chunk_size` steps."""

    def __init__(self, width: int, heads: int, key_width: int, value_width: int, chunk_size: int = 32) -> None:
        super().__init__()
        self.heads, self.chunk_size = heads, chunk_size
        self.query = nn.Linear(width, heads * key_width, bias=False)
        self.key = nn.Linear(width, heads * key_width, bias=False)
        self.value = nn.Linear(width, heads * value_width, bias=False)
        self.strength = nn.Linear(width, heads)
        self.norm = nn.RMSNorm(value_width)
        self.output = nn.Linear(heads * value_width, width, bias=False)

    def strengths(self, states: Tensor) -> Tensor:
        """How strongly each step is written, (B, L, heads)."""
        return self.strength(states).sigmoid()

    def forward(self, states: Tensor) -> Tensor:
        length = states.shape[1]
        # Steps of zeros at the end, for which there is a place in the last chunk, but no reader.
        missing = -length % self.chunk_size

        def heads(projected: Tensor) -> Tensor:
            return F.pad(projected.unflatten(-1, (self.heads, -1)).transpose(1, 2), (0, 0, 0, missing))

        q = heads(F.normalize(F.silu(self.query(states)).unflatten(-1, (self.heads, -1)), dim=-1).flatten(2))
        k = heads(F.normalize(F.silu(self.key(states)).unflatten(-1, (self.heads, -1)), dim=-1).flatten(2))
        v = heads(F.silu(self.value(states)))
        beta = heads(self.strengths(states)).squeeze(-1)
        read, _ = delta_rule_chunkwise(q, k, v, beta, self.chunk_size)
        return self.output(self.norm(read.transpose(1, 2)[:, :length]).flatten(2))
