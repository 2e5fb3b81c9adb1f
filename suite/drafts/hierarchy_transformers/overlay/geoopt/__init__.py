"""A stub of the package of this name: one of its manifolds."""

from .manifolds import PoincareBall

__all__ = ["PoincareBall"]
