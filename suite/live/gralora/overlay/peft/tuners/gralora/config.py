"""A stand-in for the configuration of GraLoRA, without the choice of modules in a model."""

from dataclasses import dataclass


@dataclass
class GraloraConfig:
    """The settings of one adapter.

    Args:
        r: The rank of the adapter, a multiple of `gralora_k`.
        hybrid_r: The rank of a LoRA adapter of the whole weight beside the grid, 0 for none.
        alpha: The numerator of the scaling factor.
        gralora_dropout: The probability of dropout on the input of the adapter.
        gralora_k: The number of blocks into which inputs and outputs are cut.
        fan_in_fan_out: Whether the base layer stores its weight as (inputs, outputs).
        init_weights: Whether the adapter starts without effect.
    """

    r: int = 32
    hybrid_r: int = 0
    alpha: float = 64
    gralora_dropout: float = 0.0
    gralora_k: int = 2
    fan_in_fan_out: bool = False
    init_weights: bool = True
