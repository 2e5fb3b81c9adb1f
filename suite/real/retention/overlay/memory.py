"""One stream of keys and values, read from memories that forget it at several speeds."""

import torch
from fla.ops.retention.naive import naive_retention
from torch import Tensor


def read_at_all_speeds(asked: Tensor, keys: Tensor, values: Tensor, speeds: int) -> Tensor:
    """What each of the heads reads, (B, T, speeds, V), of the same asked and keys (B, T, D) and values (B, T, V)."""
    q, k, v = (item.unsqueeze(1).expand(-1, speeds, -1, -1) for item in (asked, keys, values))
    return naive_retention(q, k, v).transpose(1, 2)


def fitted(features: Tensor, targets: Tensor, penalty: float = 1e-2) -> Tensor:
    """Weights of a ridge regression, in double precision."""
    features, targets = features.double(), targets.double()
    moments = features.mT @ features + penalty * torch.eye(features.shape[-1], dtype=torch.float64)
    return torch.linalg.solve(moments, features.mT @ targets)
