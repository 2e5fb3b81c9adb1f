"""Fine-tuning under a budget of triplets."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from loralib.adalora import orthogonality
from loralib.allocator import BudgetSchedule, RankAllocator, compact
from model import ResidualNetwork, increments


@dataclass(frozen=True)
class FineTuning:
    """steps: of the optimizer. gamma: the weight of the orthogonality regulariser."""

    steps: int = 32
    learning_rate: float = 8e-2
    gamma: float = 0.02
    batch_size: int = 16


def fine_tune(
    model: ResidualNetwork, inputs: Tensor, targets: Tensor, args: FineTuning, schedule: BudgetSchedule | None
) -> float:
    """Fit the increments to the targets; with a schedule, under its budget. The loss of the model as evaluated."""
    model.train()
    allocator = RankAllocator(model, schedule) if schedule else None
    optimizer = torch.optim.Adam(increments(model), lr=args.learning_rate)
    # Which rows a step sees is the same for all models.
    generator = torch.Generator().manual_seed(0)
    for step in range(args.steps):
        rows = torch.randint(len(inputs), (args.batch_size,), generator=generator)
        optimizer.zero_grad()
        (F.mse_loss(model(inputs[rows]), targets[rows]) + args.gamma * orthogonality(model)).backward()
        optimizer.step()
        if allocator:
            allocator.step(step)
    compact(model)
    model.eval()
    with torch.no_grad():
        return F.mse_loss(model(inputs), targets).item()
