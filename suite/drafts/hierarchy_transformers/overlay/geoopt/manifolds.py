"""A stub: the Poincaré ball of curvature -c."""

import math

import torch

_EDGE = 1e-7


class PoincareBall:
    def __init__(self, c=1.0):
        if c <= 0:
            raise ValueError("c is not positive")
        self.c = float(c)

    def mobius_add(self, x, y):
        """Möbius addition along the last dimension."""
        xx, yy, xy = ((a * b).sum(dim=-1, keepdim=True) for a, b in ((x, x), (y, y), (x, y)))
        above = (1 + 2 * self.c * xy + self.c * yy) * x + (1 - self.c * xx) * y
        return above / (1 + 2 * self.c * xy + self.c**2 * xx * yy).clamp_min(1e-15)

    def dist(self, x, y):
        """The hyperbolic distance of points, along the last dimension."""
        return self.dist0(self.mobius_add(-x, y))

    def dist0(self, x):
        """The hyperbolic distance from the origin."""
        root = math.sqrt(self.c)
        return 2 / root * torch.atanh((root * x.norm(dim=-1)).clamp(max=1 - _EDGE))
