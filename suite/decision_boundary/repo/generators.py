"""Where points come from: one function behind which the three generators of Appendix G lie.

Points keep the scale that their generator gives them, which differs from one data type to another.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config import DATA_TYPES

LAST_SEED = 2**32 - 1
MOST_DIMENSIONS = 8


@dataclass(frozen=True)
class TaskSpec:
    """What one task is drawn from. Raises ValueError for what can't be drawn.

    data_type: linear, with 1 to MOST_DIMENSIONS dimensions; circle or moon, which lie in a plane.
    num_samples: at least 1.
    seed: 0 to LAST_SEED. The same seed gives the same points.
    factor: the inner circle's radius relative to the outer one's; other types have no use for it.
    class_sep: half of the side of the hypercube on whose corners the clusters of a linear task lie; likewise.
    noise: standard deviation of the noise of circles and moons.
    """

    data_type: str
    num_samples: int
    num_dimensions: int
    seed: int
    factor: float
    class_sep: float
    noise: float

    def __post_init__(self) -> None:
        if self.data_type not in DATA_TYPES:
            raise ValueError(f"data type {self.data_type!r}")
        allowed = range(1, MOST_DIMENSIONS + 1) if self.data_type == "linear" else (2,)
        if self.num_dimensions not in allowed:
            raise ValueError(f"{self.data_type} in {self.num_dimensions} dimensions")
        if self.num_samples < 1:
            raise ValueError(f"{self.num_samples} samples")
        if not 0 <= self.seed <= LAST_SEED:
            raise ValueError(f"seed {self.seed}")
        if self.data_type == "circle" and not 0 <= self.factor < 1:
            raise ValueError(f"factor {self.factor}")


def draw_points(spec: TaskSpec) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Points (num_samples, num_dimensions) and their labels (num_samples,), which count from 0, in random order.

    One class has half of the points; where their number is odd, the last class has one more.
    """
    generator = np.random.default_rng(spec.seed)
    sizes = (spec.num_samples // 2, spec.num_samples - spec.num_samples // 2)
    if spec.data_type == "linear":
        classes = _clusters(sizes, spec.num_dimensions, spec.class_sep, generator)
    else:
        classes = _circles(sizes, spec.factor) if spec.data_type == "circle" else _moons(sizes)
        classes = [points + generator.normal(scale=spec.noise, size=points.shape) for points in classes]
    order = generator.permutation(spec.num_samples)
    return np.concatenate(classes)[order], np.repeat(np.arange(2), sizes)[order]


def _clusters(
    sizes: tuple[int, int], dimensions: int, class_sep: float, generator: np.random.Generator
) -> list[NDArray[np.float64]]:
    """A normal cluster of random shape on each of two corners of a hypercube."""
    corner = generator.choice([-1.0, 1.0], size=dimensions)
    flipped = generator.random(dimensions) < 0.5
    flipped[generator.integers(dimensions)] = True
    corners = (corner, np.where(flipped, -corner, corner))
    clusters = []
    for size, place in zip(sizes, corners, strict=True):
        shape = np.eye(dimensions) + generator.uniform(-0.5, 0.5, size=(dimensions, dimensions))
        clusters.append(class_sep * place + generator.normal(size=(size, dimensions)) @ shape)
    return clusters


def _circles(sizes: tuple[int, int], factor: float) -> list[NDArray[np.float64]]:
    """The outer circle, of radius 1, then the inner one."""
    angles = [np.linspace(0, 2 * np.pi, size, endpoint=False) for size in sizes]
    return [
        radius * np.stack([np.cos(turn), np.sin(turn)], axis=1)
        for radius, turn in zip((1.0, factor), angles, strict=True)
    ]


def _moons(sizes: tuple[int, int]) -> list[NDArray[np.float64]]:
    """The upper half of a circle, then the lower half of one further to the right that reaches into it."""
    upper, lower = (np.linspace(0, np.pi, size) for size in sizes)
    return [
        np.stack([np.cos(upper), np.sin(upper)], axis=1),
        np.stack([1 - np.cos(lower), 0.5 - np.sin(lower)], axis=1),
    ]
