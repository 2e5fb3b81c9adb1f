"""Random views of images: what a representation learns to ignore is decided here (section 3)."""

import torch
from torch import Generator, Tensor


def crop(pixels: Tensor, generator: Generator) -> Tensor:
    """Keep a random part of each image, six by six pixels, and blank the rest: a stand-in for cropping."""
    corners = torch.randint(pixels.shape[-1] - 5, (2, len(pixels), 1), generator=generator)
    place = torch.arange(pixels.shape[-1])
    rows, columns = ((corner <= place) & (place < corner + 6) for corner in corners)
    return pixels * (rows.unsqueeze(2) & columns.unsqueeze(1))


def distort(pixels: Tensor, generator: Generator) -> Tensor:
    """Change brightness and contrast of each image: a stand-in for colour distortion."""
    factors = 0.5 + torch.rand(len(pixels), 1, 1, generator=generator, dtype=pixels.dtype)
    return factors * pixels + 1.5 * torch.randn(len(pixels), 1, 1, generator=generator, dtype=pixels.dtype)


AUGMENTATIONS = {"crop": (crop,), "distort": (distort,), "both": (distort, crop)}


def make_views(pixels: Tensor, augmentation: str, n_views: int, generator: Generator) -> Tensor:
    """Views of a batch, (n_views * batch, size, size): the first view of every image, then the second of every one."""
    views = []
    for _ in range(n_views):
        view = pixels
        for change in AUGMENTATIONS[augmentation]:
            view = change(view, generator)
        views.append(view)
    return torch.cat(views)
