"""Images of patterns: what a picture shows is its class, how it shows it is not."""

from typing import NamedTuple

import torch
from torch import Generator, Tensor

SIZE = 8
CLASSES = 6


class Images(NamedTuple):
    """Pixels (count, SIZE, SIZE) in double precision and labels (count,)."""

    pixels: Tensor
    labels: Tensor


def draw_patterns(generator: Generator) -> Tensor:
    """One smooth pattern a class, (CLASSES, SIZE, SIZE): waves of different direction and frequency."""
    grid = torch.arange(SIZE, dtype=torch.float64) / SIZE
    frequencies = torch.randint(-2, 3, (CLASSES, 2), generator=generator) + torch.eye(2)[torch.arange(CLASSES) % 2] / 2
    phases = frequencies[:, :1, None] * grid[:, None] + frequencies[:, 1:, None] * grid[None]
    return torch.cos(2 * torch.pi * phases.double())


def draw_images(patterns: Tensor, count: int, generator: Generator) -> Images:
    """Images of random classes, each with a brightness, a contrast and noise of its own."""
    labels = torch.randint(CLASSES, (count,), generator=generator)
    brightness = torch.randn(count, 1, 1, generator=generator, dtype=torch.float64)
    contrast = 0.5 + torch.rand(count, 1, 1, generator=generator, dtype=torch.float64)
    noise = 0.8 * torch.randn(count, SIZE, SIZE, generator=generator, dtype=torch.float64)
    return Images(contrast * patterns[labels] + 2.0 * brightness + noise, labels)
