"""What a tree search remembers.

A node of an open-loop tree is a sequence of the persuader's acts, and nothing that was said: its name is the string
that `OpenLoopMCTS._to_string_rep` makes of any dialogue in which the persuader took these acts. Dialogues are kept
apart from the nodes, since one may end where no node is ever made.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.session import DialogSession


@dataclass
class Node:
    """The statistics of a node that was expanded.

    moves: the numbers of the legal acts, in the order in which the planner thinks of them. There may be none.
    prior: a float64 entry for each of SYSTEM_ACTS, by number; those of illegal acts are 0.
    values: the average value of each of `moves`, in their order. counts: how many times each of them was taken.
    entered: how many searches reached the node, the one that expanded it among them.
    """

    moves: tuple[int, ...]
    prior: NDArray[np.float64]
    values: list[float]
    counts: list[int]
    entered: int = 1


@dataclass
class Realization:
    """A dialogue that was simulated. value: the average over the searches that went through it, of which there are
    `visits`."""

    session: DialogSession
    value: float
    visits: int


@dataclass(frozen=True)
class Step:
    """One step of a search down the tree: the node that it leaves, the number of the act that it takes there, and the
    dialogue that it arrives at, in which this act was taken and answered."""

    hashable_state: str
    action: int
    session: DialogSession
