"""The training loop (paper, section 4.2): AdamW, a linear warm-up, clipped gradients."""

from dataclasses import dataclass

import torch
from torch import nn

from data import Batch
from model import ERGO


@dataclass(frozen=True)
class TrainConfig:
    """How a model is trained; warm_up is a share of the steps."""

    steps: int = 4
    learning_rate: float = 5e-3
    warm_up: float = 0.08
    clip: float = 1.0


def train(model: ERGO, batch: Batch, criterion: nn.Module, config: TrainConfig) -> float:
    """Train the model on one batch of documents, in place; the loss of the last step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate)
    warm_up_steps = max(1, round(config.warm_up * config.steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warm_up_steps))
    last = float("nan")
    for _ in range(config.steps):
        optimizer.zero_grad()
        loss = criterion(model(batch), batch.labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        optimizer.step()
        schedule.step()
        last = loss.item()
    return last
