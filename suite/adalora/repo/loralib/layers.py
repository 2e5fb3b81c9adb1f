"""What every layer with an increment has in common."""

from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True)
class IncrementConfig:
    """How increments start out.

    r: initial rank; 0 for no increment. alpha: the numerator of the scaling. dropout: on the increment's branch.
    merge_weights: whether evaluation folds the increment into the weight.
    """

    r: int = 4
    alpha: float = 8.0
    dropout: float = 0.0
    merge_weights: bool = True


class IncrementLayer:
    """Mixed into a layer that learns an increment beside a frozen weight."""

    def __init__(self, config: IncrementConfig) -> None:
        self.r = config.r
        # Without an alpha the increment is not scaled up at all.
        self.scaling = config.alpha if config.alpha > 0 else float(config.r)
        self.lora_dropout = nn.Dropout(config.dropout) if config.dropout > 0 else nn.Identity()
        self.merge_weights = config.merge_weights
        self.merged = False
