"""A stand-in for the settings that a layer of Lily reads."""

from dataclasses import dataclass


@dataclass
class LilyConfig:
    """Settings of an adapter.

    Args:
        stride_A: Number of consecutive layers that share one A.
        num_B: Number of experts, at least 2.
        scaling: Factor of the update.
        init_weights: Whether the update starts at zero.
        inference_mode: Whether the adapter is frozen.
    """

    stride_A: int = 1
    num_B: int = 2
    scaling: float = 1.0
    init_weights: bool = True
    inference_mode: bool = False
