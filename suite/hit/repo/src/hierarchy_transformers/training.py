"""Re-training of an encoder: batches of triplets, or of the pairs that they are made of."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn

from src.hierarchy_transformers.datasets import Triplet
from src.hierarchy_transformers.models.encoder import HierarchyTransformer

Batch = tuple[list[dict[str, Tensor]], Tensor]


@dataclass(frozen=True)
class TrainConfig:
    """How an encoder is re-trained."""

    steps: int = 8
    batch_size: int = 20
    learning_rate: float = 0.025


def triplet_batch(model: HierarchyTransformer, triplets: list[Triplet]) -> Batch:
    """Features of the three columns, and labels of ones."""
    columns = zip(*((row.entity, row.parent, row.negative) for row in triplets), strict=True)
    return [model.tokenize(column) for column in columns], torch.ones(len(triplets))


def pair_batch(model: HierarchyTransformer, triplets: list[Triplet]) -> Batch:
    """Features of entities and of what they are paired with: first the parents (1), then the negatives (0)."""
    entities = [row.entity for row in triplets]
    others = [row.parent for row in triplets] + [row.negative for row in triplets]
    labels = torch.cat((torch.ones(len(triplets)), torch.zeros(len(triplets))))
    return [model.tokenize(entities * 2), model.tokenize(others)], labels


def shuffled(triplets: list[Triplet], size: int, generator: Generator) -> Iterator[list[Triplet]]:
    """Batches without end, each epoch in a new order."""
    while True:
        order = torch.randperm(len(triplets), generator=generator).tolist()
        for start in range(0, len(order), size):
            yield [triplets[index] for index in order[start : start + size]]


def train(
    loss_function: nn.Module, triplets: list[Triplet], config: TrainConfig, generator: Generator, pairs: bool = False
) -> dict[str, float]:
    """Re-train the model of the loss, in place; what the loss returned, averaged over the second half of the steps."""
    model = loss_function.model
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate)
    totals: dict[str, float] = {}
    make_batch = pair_batch if pairs else triplet_batch
    counted = config.steps // 2
    for step, rows in zip(range(config.steps), shuffled(triplets, config.batch_size, generator), strict=False):
        optimizer.zero_grad()
        parts = loss_function(*make_batch(model, rows))
        parts["loss"].backward()
        optimizer.step()
        if step >= config.steps - counted:
            totals = {name: totals.get(name, 0.0) + value.item() / counted for name, value in parts.items()}
    return totals
