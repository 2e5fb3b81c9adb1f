"""A stand-in for a layer that peft knows besides those of torch."""

from torch import nn


class Conv1D(nn.Module):
    """A type that no layer of this workspace has."""
