"""The Poincaré ball of negative curvature -c: the points of Euclidean norm below 1 / sqrt(c) (section 2.2)."""

from dataclasses import dataclass
from math import sqrt

import torch
from torch import Tensor

# Rounding can put a point of the open ball on its boundary, where artanh is infinite.
BOUNDARY = 1 - 1e-6


@dataclass(frozen=True)
class PoincareBall:
    """A ball by its curvature value c; points are the last dimension of a tensor."""

    curvature: float

    @classmethod
    def around_cube(cls, dim: int) -> "PoincareBall":
        """The ball whose boundary goes through the corners of [-1, 1]^dim (section 3)."""
        return cls(1 / dim)

    @property
    def radius(self) -> float:
        """Euclidean radius of the ball."""
        return 1 / sqrt(self.curvature)

    def mobius_add(self, u: Tensor, v: Tensor) -> Tensor:
        """Möbius addition (eq. 2), (..., dim)."""
        c = self.curvature
        inner = (u * v).sum(-1, keepdim=True)
        u_square, v_square = u.square().sum(-1, keepdim=True), v.square().sum(-1, keepdim=True)
        numerator = (1 + 2 * c * inner + c * v_square) * u + (1 - c * u_square) * v
        return numerator / (1 + 2 * c * inner + c**2 * u_square * v_square)

    def distance(self, u: Tensor, v: Tensor) -> Tensor:
        """Hyperbolic distance of points (eq. 1), row by row: (..., dim) to (...)."""
        return self.norm(self.mobius_add(-u, v))

    def norm(self, u: Tensor) -> Tensor:
        """Hyperbolic distance of points to the origin, (..., dim) to (...)."""
        relative = torch.linalg.vector_norm(u, dim=-1) / self.radius
        return 2 * self.radius * torch.atanh(relative.clamp(max=BOUNDARY))
