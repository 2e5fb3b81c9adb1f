"""The event relational graph and the transformer that runs over it (paper, section 3.2)."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def criss_cross(pairs: Tensor) -> Tensor:
    """Which nodes of a graph are joined: pairs that share at least one event, so each with itself; (batch, N, N).

    pairs: (batch, N, 2), the events of each node.
    """
    left, right = pairs[:, :, None, :, None], pairs[:, None, :, None, :]
    return (left == right).flatten(-2).any(-1)


def pair_nodes(events: Tensor, pairs: Tensor) -> Tensor:
    """Initial features of the nodes: both events' embeddings side by side (equation 2); (batch, N, 2 * width)."""
    rows = torch.arange(len(events))[:, None, None]
    return events[rows, pairs].flatten(-2)


class RelationalGraphLayer(nn.Module):
    """Multi-head attention of each node to its neighbours (equations 3 to 6), with a residual as in the transformer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, width, bias=False)
        self.norm = nn.LayerNorm(width)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        """New features of the nodes, (batch, N, width); edges: (batch, N, N), every node has at least one."""
        query, key, value = (self._split(part(nodes)) for part in (self.query, self.key, self.value))
        scores = query @ key.transpose(-1, -2) / math.sqrt(key.shape[-1])
        attention = F.softmax(scores.masked_fill(~edges.unsqueeze(1), -math.inf), dim=-1)
        heads = (attention @ value).transpose(1, 2).flatten(-2)
        return self.norm(nodes + self.output(heads))

    def _split(self, features: Tensor) -> Tensor:
        """(batch, N, width) as (batch, heads, N, width / heads)."""
        return features.unflatten(-1, (self.heads, -1)).transpose(1, 2)
