"""Similarities of all rows of one matrix with all rows of another one."""

from torch import Tensor
from torch.nn import functional as F

__all__ = ["cos_sim", "dot_score", "euclidean_sim"]


def cos_sim(a: Tensor, b: Tensor) -> Tensor:
    """Cosines, (rows of a, rows of b)."""
    return F.normalize(a, dim=1) @ F.normalize(b, dim=1).T


def dot_score(a: Tensor, b: Tensor) -> Tensor:
    """Dot products, (rows of a, rows of b)."""
    return a @ b.T


def euclidean_sim(a: Tensor, b: Tensor) -> Tensor:
    """Squared distances with a minus, (rows of a, rows of b)."""
    return -(a.unsqueeze(1) - b.unsqueeze(0)).square().sum(dim=-1)
