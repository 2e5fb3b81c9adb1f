"""Losses of sentence encoders."""

from .global_orthogonal_regularization import GlobalOrthogonalRegularizationLoss

__all__ = ["GlobalOrthogonalRegularizationLoss"]
