"""A stand-in for the layer of GPT-2 that peft supports besides those of torch."""

import torch
from torch import nn


class Conv1D(nn.Module):
    """A linear layer that stores its weight as inputs by outputs."""

    def __init__(self, outputs, inputs):
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        """Return the product of x with the weight, plus the bias."""
        return x @ self.weight + self.bias
