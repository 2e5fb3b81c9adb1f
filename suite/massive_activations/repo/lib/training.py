"""Training a classifier, and measuring one."""

import torch
from torch import nn
from torch.nn import functional as F

from lib.data import Dataset
from lib.modes import evaluation

FIRST, SECOND = 0.9, 0.99


def train(
    model: nn.Module, dataset: Dataset, seed: int, steps: int = 80, batch: int = 32, learning_rate: float = 3e-3
) -> None:
    """Adam on batches drawn at random, with a learning rate that falls to zero.

    It is written out, since importing torch.optim takes longer than the training.
    """
    generator = torch.Generator().manual_seed(seed)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    means, squares = ([torch.zeros_like(parameter) for parameter in parameters] for _ in range(2))
    model.train()
    for step in range(1, steps + 1):
        chosen = torch.randint(len(dataset.labels), (batch,), generator=generator)
        loss = F.cross_entropy(model(dataset.images[chosen]), dataset.labels[chosen])
        gradients = torch.autograd.grad(loss, parameters)
        rate = learning_rate * (1 - step / steps) * (1 - SECOND**step) ** 0.5 / (1 - FIRST**step)
        with torch.no_grad():
            for parameter, mean, square, gradient in zip(parameters, means, squares, gradients, strict=True):
                mean.lerp_(gradient, 1 - FIRST)
                square.lerp_(gradient.square(), 1 - SECOND)
                parameter.addcdiv_(mean, square.sqrt() + 1e-8, value=-rate)


def accuracy(model: nn.Module, dataset: Dataset) -> float:
    """The share of images whose class the model finds."""
    with evaluation(model):
        found = model(dataset.images).argmax(dim=1)
    return float((found == dataset.labels).float().mean())
