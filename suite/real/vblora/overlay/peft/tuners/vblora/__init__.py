"""VB-LoRA: low-rank updates whose parts come from one bank of vectors."""

from .layer import Linear, VBLoRALayer

__all__ = ["Linear", "VBLoRALayer"]
