"""BOFT: orthogonal finetuning by butterfly factors."""

from . import blocks, layer
from .layer import BOFTLayer, Linear

# There is no CUDA here: what the extension does is done by a module in Python, so that several factors are allowed.
layer._FBD_CUDA = blocks

__all__ = ["BOFTLayer", "Linear"]
