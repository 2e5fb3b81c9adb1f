"""Linear evaluation: how much of the classes does a linear map read from frozen representations?"""

import torch
from torch import Tensor
from torch.nn import functional as F

from data import CLASSES, Images
from models import ContrastiveModel


def linear_evaluation(model: ContrastiveModel, train: Images, test: Images, penalty: float = 1.0) -> float:
    """The share of the variance of held-out one-hot labels that ridge regression explains, at most 1."""
    with torch.no_grad():
        inputs, held_out = (_with_constant(model.encoder(images.pixels)) for images in (train, test))
    targets, expected = (F.one_hot(images.labels, CLASSES).double() for images in (train, test))
    normal = inputs.T @ inputs + penalty * torch.eye(inputs.shape[1], dtype=inputs.dtype)
    predicted = held_out @ torch.linalg.solve(normal, inputs.T @ targets)
    residual = (expected - predicted).square().sum()
    return float(1 - residual / (expected - targets.mean(dim=0)).square().sum())


def _with_constant(features: Tensor) -> Tensor:
    return torch.cat([features, torch.ones(len(features), 1, dtype=features.dtype)], dim=1)
