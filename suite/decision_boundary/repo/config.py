"""Settings of the study: what tasks look like, what models are asked, and how boundaries are drawn."""

from dataclasses import dataclass

DATA_TYPES = ("linear", "circle", "moon")
# Features go from 0 to this number, in every dimension of every task. So they print with one digit to three.
LARGEST = 100.0
CLASS_NAMES = ("Foo", "Bar")
# Standard deviation of what is added to the points of a task. Clusters have a width of their own and need none.
NOISE = {"linear": 0.0, "circle": 0.05, "moon": 0.1}


@dataclass(frozen=True)
class ParameterRanges:
    """Where the parameters of tasks are drawn from (Appendix G)."""

    class_sep: tuple[float, float]
    factor: tuple[float, float]


TRAINING = ParameterRanges(class_sep=(1.5, 2.0), factor=(0.1, 0.4))
TESTING = ParameterRanges(class_sep=(1.0, 1.4), factor=(0.5, 0.9))


@dataclass(frozen=True)
class Study:
    """Sizes of one run of the experiment; the paper's are larger."""

    samples: int = 400
    queries: int = 100
    tasks: int = 2
    context_sizes: tuple[int, ...] = (8, 32, 128)
    grid: int = 16
    orders: int = 2
    training_tasks: int = 2
    training_points: int = 96
    active_start: int = 8
    active_step: int = 8
    active_rounds: int = 3
