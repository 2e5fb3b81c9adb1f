"""Pictures with patches that are striped and patches that are plain; the question is how many are striped."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

SIDE = 16
PATCH = 4
# How many patches are striped, for each class. One patch of every picture is blank, and says nothing of its class.
COUNTS = (1, 5, 9, 13)
CONTRAST = 100
NOISE = 15
BLANK = 255


@dataclass(frozen=True)
class Dataset:
    """Images as a model takes them, (images, 3, side, side), and the numbers of their classes."""

    images: Tensor
    labels: Tensor


def draw_picture(label: int, generator: np.random.Generator) -> NDArray[np.uint8]:
    """A square picture of a class: dark patches in a tint of their own, in any order, with noise, and a blank patch."""
    stripes = np.arange(PATCH).reshape(1, PATCH, 1, 1) // 2 - 0.5
    count = (SIDE // PATCH) ** 2
    tints = generator.uniform(0.7, 1.3, size=(count, 1, 1, 3))
    striped = np.arange(count).reshape(count, 1, 1, 1) < COUNTS[label]
    noise = generator.normal(scale=NOISE, size=(count, PATCH, PATCH, 3))
    patches = np.clip(60 + CONTRAST * tints * striped * stripes + noise, 0, 130)
    patches[-1] = BLANK
    patches = patches[generator.permutation(count)].reshape(SIDE // PATCH, SIDE // PATCH, PATCH, PATCH, 3)
    return patches.swapaxes(1, 2).reshape(SIDE, SIDE, 3).astype(np.uint8)


def make_dataset(count: int, transform: Callable[[NDArray[np.uint8]], Tensor], seed: int) -> Dataset:
    """As many pictures of each class, with a generator of their own."""
    generator = np.random.default_rng(seed)
    labels = [number % len(COUNTS) for number in range(count)]
    images = [transform(draw_picture(label, generator)) for label in labels]
    return Dataset(torch.stack(images), torch.tensor(labels))


def example_picture() -> NDArray[np.uint8]:
    """The picture that figures show, always the same: twice as large as the others, with a margin left and right."""
    picture = draw_picture(2, np.random.default_rng(7)).repeat(2, axis=0).repeat(2, axis=1)
    return np.pad(picture, ((0, 0), (SIDE // 2, SIDE // 2), (0, 0)), mode="edge")
