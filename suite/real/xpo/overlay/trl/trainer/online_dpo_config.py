"""A stand-in for the configuration of the base class: what is read of it here."""

from dataclasses import dataclass, field


@dataclass
class OnlineDPOConfig:
    """Settings that all trainers of this family have."""

    beta: list[float] = field(default_factory=lambda: [0.1])
    loss_type: str = "sigmoid"
    missing_eos_penalty: float | None = None

    def __post_init__(self):
        """One number needs no list."""
        if isinstance(self.beta, list) and len(self.beta) == 1:
            (self.beta,) = self.beta
