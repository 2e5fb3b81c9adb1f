"""A stand-in for the one layer of transformers that peft knows besides those of torch."""

import torch
from torch import nn


class Conv1D(nn.Module):
    """A linear layer whose weight is stored as (inputs, outputs)."""

    def __init__(self, outputs, inputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) * 0.02)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        """x times the weight, plus the bias."""
        return x @ self.weight + self.bias
