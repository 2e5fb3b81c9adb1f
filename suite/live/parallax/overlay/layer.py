"""A layer of Parallax attention, which begins as softmax attention."""

from fla.ops.parallax.naive import naive_parallax
from torch import Tensor, nn


class Parallax(nn.Module):
    """States (B, T, width) to states, with `groups` query heads for each key head."""

    def __init__(self, width: int, heads: int, groups: int, head_width: int, window_size: int | None = None) -> None:
        super().__init__()
        self.window_size = window_size
        self.head_width = head_width
        self.query = nn.Linear(width, heads * groups * head_width, bias=False)
        self.probe = nn.Linear(width, heads * groups * head_width, bias=False)
        self.key = nn.Linear(width, heads * head_width, bias=False)
        self.value = nn.Linear(width, heads * head_width, bias=False)
        self.output = nn.Linear(heads * groups * head_width, width, bias=False)
        nn.init.zeros_(self.probe.weight)

    def forward(self, states: Tensor) -> Tensor:
        q, r, k, v = (
            projection(states).unflatten(-1, (-1, self.head_width))
            for projection in (self.query, self.probe, self.key, self.value)
        )
        return self.output(naive_parallax(q, r, k, v, window_size=self.window_size).flatten(2))
