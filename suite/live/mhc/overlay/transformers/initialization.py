"""Stand-in: initial values of parameters."""

from torch.nn.init import normal_, ones_, zeros_

__all__ = ["normal_", "ones_", "zeros_"]
