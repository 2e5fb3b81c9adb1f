"""A stand-in for the configuration of HiRA, without the choice of modules in a model."""

from dataclasses import dataclass


@dataclass
class HiraConfig:
    """The settings of one adapter.

    Args:
        r: The rank of the two factors.
        hira_dropout: The probability of dropout on the input of the adapter.
        fan_in_fan_out: Whether the base layer stores its weight as (inputs, outputs).
        init_weights: True for the default start, where the adapter changes nothing; "gaussian" for a normal start of A;
            False for random factors.
    """

    r: int = 32
    hira_dropout: float = 0.0
    fan_in_fan_out: bool = False
    init_weights: bool | str = True
