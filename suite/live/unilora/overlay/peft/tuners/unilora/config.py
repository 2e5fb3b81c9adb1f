"""A stand-in for the configuration of Uni-LoRA."""

from dataclasses import dataclass, field


@dataclass
class UniLoraConfig:
    """The settings of one adapter.

    Args:
        r: The rank of the factors.
        proj_seed: The seed of the assignment of parameters to entries of the vector.
        theta_d_length: The length of the vector.
        target_modules: The names of the modules to adapt.
        unilora_dropout: The probability of dropout on the input of the adapter.
        fan_in_fan_out: Whether base layers store weights as (inputs, outputs).
        init_theta_d_bound: The bound of the uniform start of the vector.
        init_weights: Whether the vector starts uniformly or normally.
        save_indices: Whether indices and scales are a part of the state dict.
    """

    r: int = 4
    proj_seed: int = 42
    theta_d_length: int = 256
    target_modules: list = field(default_factory=list)
    unilora_dropout: float = 0.0
    fan_in_fan_out: bool = False
    init_theta_d_bound: float = 0.02
    init_weights: bool = True
    save_indices: bool = True
