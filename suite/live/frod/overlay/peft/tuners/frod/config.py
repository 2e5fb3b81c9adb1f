"""A stand-in for the settings of FRoD."""

from dataclasses import dataclass


@dataclass
class FrodConfig:
    """Settings of an adapter.

    Args:
        frod_dropout: Probability of dropout on the input.
        sparse_rate: Share of the entries off the diagonal that are trained.
        regularization_alpha: The positive number that keeps inverses stable.
        projection_prng_key: Seed of the choice of these entries.
        init_weights: Whether the layer starts as the base layer.
        fan_in_fan_out: Whether the base layer stores its weight as inputs by outputs.
        runtime_offload_base_weight: Whether to keep base weights elsewhere. Not used on one CPU.
    """

    frod_dropout: float = 0.0
    sparse_rate: float = 0.01
    regularization_alpha: float = 1e-3
    projection_prng_key: int = 0
    init_weights: bool = True
    fan_in_fan_out: bool = False
    runtime_offload_base_weight: bool = False
