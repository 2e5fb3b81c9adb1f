"""A layer of the momentum delta rule: projections, gates and strengths."""

from fla.ops.momentum_delta_rule.naive import recurrent_momentum_delta_rule_ref
from torch import Tensor, nn
from torch.nn import functional as F


class MomentumDelta(nn.Module):
    """States (B, T, width) to states."""

    def __init__(self, width: int, heads: int, key_width: int, value_width: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, heads * key_width, bias=False)
        self.key = nn.Linear(width, heads * key_width, bias=False)
        self.value = nn.Linear(width, heads * value_width, bias=False)
        # Numbers per head and step: decay of memory and of momentum, two strengths.
        self.gates = nn.Linear(width, 4 * heads)
        # The probe is a share of the key, a number per head.
        self.share = nn.Parameter(self.gates.bias.new_full((heads,), 2.0))
        self.output = nn.Linear(heads * value_width, width, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        def split(projected: Tensor) -> Tensor:
            return projected.unflatten(-1, (self.heads, -1))

        q = F.normalize(F.silu(split(self.query(states))), dim=-1)
        k = F.normalize(F.silu(split(self.key(states))), dim=-1)
        v = split(self.value(states))
        alpha, mu, beta, eta = self.gates(states).unflatten(-1, (4, self.heads)).unbind(-2)
        read, _ = recurrent_momentum_delta_rule_ref(
            q=q,
            k=k,
            v=v,
            p=k * self.share.sigmoid().unsqueeze(-1),
            log_alpha=F.logsigmoid(alpha + 4),
            log_mu=F.logsigmoid(mu),
            beta=beta.sigmoid(),
            eta=eta.sigmoid(),
        )
        return self.output(read.flatten(2))
