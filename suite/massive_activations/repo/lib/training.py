"""Fitting a classifier to a model, and measuring it."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lib.data import COUNTS, Dataset
from lib.modes import evaluation


@torch.no_grad()
def fit_classifier(model: nn.Module, dataset: Dataset, ridge: float = 1e-2) -> None:
    """Set the linear classifier of a vision transformer by linear discriminant analysis; leave the other weights.

    ridge: how much the diagonal of the covariance within classes is strengthened.
    """
    given = []
    handle = model.head.register_forward_pre_hook(lambda head, args: given.append(args[0]))
    with evaluation(model):
        model(dataset.images)
    handle.remove()
    [states] = given
    means = torch.stack([states[dataset.labels == label].mean(dim=0) for label in range(len(COUNTS))])
    within = states - means[dataset.labels]
    covariance = within.T @ within / len(states)
    covariance = covariance + ridge * torch.eye(len(covariance))
    weight = torch.linalg.solve(covariance, means.T).T
    model.head.weight.copy_(weight)
    model.head.bias.copy_(-(weight * means).sum(dim=1) / 2)


def predict(model: nn.Module, images: Tensor) -> Tensor:
    """The log-probabilities of the classes, (images, classes)."""
    with evaluation(model):
        return model(images).log_softmax(dim=1)


def accuracy(predictions: Tensor, labels: Tensor) -> float:
    """The share of images whose class is the most probable one."""
    return float((predictions.argmax(dim=1) == labels).float().mean())


def loss(predictions: Tensor, labels: Tensor) -> float:
    """The cross-entropy of the classes, averaged over images."""
    return float(F.nll_loss(predictions, labels))


def divergence(predictions: Tensor, original: Tensor) -> float:
    """How far predictions have moved from the original ones, averaged over images."""
    return float((original.exp() * (original - predictions)).sum(dim=1).mean())
