"""Settings of the model, the texts, the probes and the points of depth."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelConfig:
    """A small transformer.

    reach: how many words back one layer looks. sharpness: how much of its attention goes there.
    pull: how strongly strings that are no words draw attention.
    outlier: its largest weights. longest: the greatest length of a hidden state.
    """

    width: int = 32
    layers: int = 8
    hidden: int = 12
    reach: int = 1
    sharpness: float = 2.5
    pull: float = 4.0
    outlier: float = 16.0
    longest: float = 4.0


@dataclass(frozen=True)
class DataConfig:
    """Texts on each side of a dataset, and how many of them are read at once."""

    texts: int = 56
    batch: int = 32


@dataclass(frozen=True)
class ProbeConfig:
    """The probes of all layers.

    ratio: parts of the rows that a probe is trained on and tested on.
    seed: of the split.
    penalty: λ of equation 1.
    steps: the largest number of steps to the minimum of J, which is found in fewer.
    tolerance: the norm of the gradient of n J at which the minimum counts as found.
    """

    ratio: tuple[int, int] = (8, 2)
    seed: int = 42
    penalty: float = 4.0
    steps: int = 50
    tolerance: float = 1e-9


@dataclass(frozen=True)
class DescentConfig:
    """The probes that are trained step by step.

    steps: how many. rate: of learning. momentum: share of a step that the next one repeats.
    """

    steps: int = 20
    rate: float = 0.5
    momentum: float = 0.8


@dataclass(frozen=True)
class DepthConfig:
    """jump: variation rate from which on accuracy jumps. flat: distance from 1 below which a rate counts as flat."""

    jump: float = 1.1
    flat: float = 0.03
    understood: float = 0.7


MODEL = ModelConfig()
DATA = DataConfig()
PROBE = ProbeConfig()
DESCENT = DescentConfig()
DEPTH = DepthConfig()
