"""The contrastive objective and the training loop."""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from augment import make_views
from models import ContrastiveModel


@dataclass(frozen=True)
class SimCLRConfig:
    """How to train: views of each image, temperature, augmentation, batches and steps."""

    n_views: int = 2
    temperature: float = 0.5
    augmentation: str = "both"
    batch: int = 32
    epochs: int = 8
    learning_rate: float = 0.03


class SimCLR:
    """Trains a model so that it recognises views of the same image."""

    def __init__(self, model: ContrastiveModel, config: SimCLRConfig) -> None:
        self.model = model
        self.config = config

    def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and labels whose cross-entropy is the contrastive loss.

        features: projections of the views of a batch as `make_views` stacks them, (n_views * batch, width).

        Returns logits, (n_views * batch, n_views * batch - 1), and labels, (n_views * batch,).
        """
        count = len(features)
        batch = count // self.config.n_views
        image = torch.arange(count, device=features.device) % batch
        same_image = image.unsqueeze(0) == image.unsqueeze(1)
        itself = torch.eye(count, dtype=torch.bool, device=features.device)
        directions = F.normalize(features.double())
        similarity = directions @ directions.T
        positives = similarity[same_image & ~itself].reshape(count, self.config.n_views - 1)
        negatives = similarity[~same_image].reshape(count, count - self.config.n_views)
        labels = torch.zeros(count, dtype=torch.long, device=features.device)
        logits = torch.cat([positives, negatives], dim=1) / self.config.temperature
        return logits.to(features.dtype), labels

    def train(self, pixels: Tensor, generator: Generator) -> float:
        """Train on images without labels, (count, size, size); returns the mean loss of the last epoch."""
        optimizer = torch.optim.SGD(self.model.parameters(), lr=self.config.learning_rate, momentum=0.9)
        losses = []
        for _ in range(self.config.epochs):
            losses = []
            for rows in torch.randperm(len(pixels), generator=generator).split(self.config.batch):
                views = make_views(pixels[rows], self.config.augmentation, self.config.n_views, generator)
                logits, labels = self.info_nce_loss(self.model(views))
                loss = F.cross_entropy(logits, labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        return sum(losses) / len(losses)
