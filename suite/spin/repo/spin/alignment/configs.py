"""Settings of both stages."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SFTConfig:
    """How the model is fitted to demonstrations: `steps` updates, each on all of them."""

    steps: int = 12
    learning_rate: float = 1.2e-2


@dataclass(frozen=True)
class SPINConfig:
    """How self-play is trained.

    Attributes:
        betas: the regularisation parameter (lambda in section 4 of the paper), one for each iteration.
        learning_rates: of RMSProp, at their peaks, one for each iteration.
        loss_type: the function that is applied to margins, "sigmoid" (the logistic loss) or "hinge".
        reference_free: train the main player without regard to the opponent's probabilities.
        epochs: passes over the pairs of an iteration.
        batch_size: pairs in an update.
        warmup: share of an iteration's steps in which the learning rate rises to its peak.
    """

    betas: tuple[float, ...] = (0.5, 0.5, 2.0)
    learning_rates: tuple[float, ...] = (2e-3, 2e-3, 4e-4)
    loss_type: str = "sigmoid"
    reference_free: bool = False
    epochs: int = 2
    batch_size: int = 64
    warmup: float = 0.1

    def __post_init__(self) -> None:
        if len(self.betas) != len(self.learning_rates):
            raise ValueError("an iteration needs a beta and a learning rate")

    @property
    def iterations(self) -> int:
        return len(self.betas)
