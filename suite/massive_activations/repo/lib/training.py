"""Training a classifier on what a model makes of images, and measuring it."""

import torch
from torch.nn import functional as F

from lib.data import Dataset
from lib.modes import evaluation
from lib.vit import VisionTransformer

FIRST, SECOND = 0.9, 0.99


def train(model: VisionTransformer, dataset: Dataset, steps: int = 100, learning_rate: float = 0.4) -> None:
    """Train the head, which reads the class token after the last block. The blocks keep the weights that they have.

    Adam on all images at once, with a learning rate that falls to zero. It is written out, since importing torch.optim
    takes longer than the training.
    """
    seen = []
    handle = model.head.register_forward_pre_hook(lambda head, given: seen.append(given[0]))
    with evaluation(model):
        model(dataset.images)
    handle.remove()
    parameters = list(model.head.parameters())
    means, squares = ([torch.zeros_like(parameter) for parameter in parameters] for _ in range(2))
    for step in range(1, steps + 1):
        gradients = torch.autograd.grad(F.cross_entropy(model.head(seen[0]), dataset.labels), parameters)
        rate = learning_rate * (1 - step / steps) * (1 - SECOND**step) ** 0.5 / (1 - FIRST**step)
        with torch.no_grad():
            for parameter, mean, square, gradient in zip(parameters, means, squares, gradients, strict=True):
                mean.lerp_(gradient, 1 - FIRST)
                square.lerp_(gradient.square(), 1 - SECOND)
                parameter.addcdiv_(mean, square.sqrt() + 1e-8, value=-rate)


def accuracy(model: VisionTransformer, dataset: Dataset) -> float:
    """The share of images whose class the model finds."""
    with evaluation(model):
        found = model(dataset.images).argmax(dim=1)
    return float((found == dataset.labels).float().mean())
