"""A stand-in for the settings that a layer of PEANuT reads."""

from dataclasses import dataclass


@dataclass
class PeanutConfig:
    """Settings of an adapter.

    Args:
        depth: Number of encoders, and of decoders.
        act_fn: Name of the activation function, a key of `ACT2FN`.
        scaling: Factor of the update.
        init_weights: Whether the update starts at zero.
        inference_mode: Whether the adapter is frozen.
    """

    depth: int = 0
    act_fn: str = "relu"
    scaling: float = 1.0
    init_weights: bool = True
    inference_mode: bool = False
