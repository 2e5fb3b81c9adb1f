"""Settings of an experiment."""

from dataclasses import dataclass

# How many edges may lie between an aspect and what is said of it.
MAX_PATH = 5


@dataclass(frozen=True)
class ChainConfig:
    """reviews: how many are made, of which a share have a distractor sentence beside them.

    strong, weak: how often each of the two readers misreads an edge of the table.
    """

    reviews: int = 40
    distractors: float = 0.5
    strong: float = 0.0
    weak: float = 0.4
    max_path: int = MAX_PATH
