"""A stand-in for the settings of GRPO that the loss uses."""

from dataclasses import dataclass


@dataclass
class GRPOConfig:
    """Settings of a trainer. `epsilon_high` is `epsilon` if it is None."""

    output_dir: str | None = None
    beta: float = 0.0
    epsilon: float = 0.2
    epsilon_high: float | None = None
    top_entropy_quantile: float = 1.0
    gradient_accumulation_steps: int = 1
