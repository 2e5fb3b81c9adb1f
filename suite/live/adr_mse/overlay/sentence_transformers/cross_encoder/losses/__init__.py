"""Losses of cross-encoders."""

from .adr_mse import ADRMSELoss

__all__ = ["ADRMSELoss"]
