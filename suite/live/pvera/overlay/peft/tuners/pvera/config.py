"""A stand-in for the settings that a layer of PVeRA reads."""

from dataclasses import dataclass


@dataclass
class PveraConfig:
    """Settings of an adapter.

    Args:
        pvera_dropout: Probability of dropout on the input of the adapter.
        sample_at_inference: Whether to sample in evaluation, too.
        generator_seed: Seed of the adapter's own generator. None takes the global one.
        d_initial: Start of all entries of `lambda_d`.
        init_weights: Whether to start as the base layer. Otherwise the vectors are random.
        fan_in_fan_out: Whether the base layer stores its weight as inputs by outputs.
        inference_mode: Whether the adapter is frozen.
    """

    pvera_dropout: float = 0.0
    sample_at_inference: bool = False
    generator_seed: int | None = None
    d_initial: float = 0.1
    init_weights: bool = True
    fan_in_fan_out: bool = False
    inference_mode: bool = False
