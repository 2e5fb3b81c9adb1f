"""A stand-in for the table of activation functions, with some of its names."""

import torch
from torch.nn import functional as F

ACT2FN = {
    "gelu": F.gelu,
    "leaky_relu": F.leaky_relu,
    "linear": lambda x: x,
    "mish": F.mish,
    "relu": F.relu,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "tanh": torch.tanh,
}
