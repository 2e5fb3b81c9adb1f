"""Precision, recall and F1 in expectation, and who makes up a loss.

A predicted class counts with its probability instead of wholly or not at all, so that small test sets give steady
figures.
"""

import torch
from torch import Tensor, nn

from data import IGNORED, NO_RELATION, Batch
from model import ERGO


@torch.no_grad()
def predict(model: ERGO, batch: Batch) -> Tensor:
    """Scores of all event pairs, (batch, N, num_classes)."""
    return model(batch)


def expected_scores(preds: Tensor, labels: Tensor) -> dict[str, float]:
    """Expected precision, recall and F1 of the causal classes, micro-averaged.

    preds: scores, (batch, N, num_classes); labels: (batch, N).
    """
    real = labels != IGNORED
    chances, truth = preds[real].softmax(-1), labels[real]
    causal = truth != NO_RELATION
    hits = chances[causal, truth[causal]].sum().item()
    predicted = (1 - chances[:, NO_RELATION]).sum().item()
    actual = causal.sum().item()
    return {"precision": hits / predicted, "recall": hits / actual, "f1": 2 * hits / (predicted + actual)}


def share_of_negatives(criterion: nn.Module, preds: Tensor, labels: Tensor) -> float:
    """The part of a summed loss that comes from pairs without a relation."""
    negatives = labels.masked_fill(labels != NO_RELATION, IGNORED)
    return (criterion(preds, negatives) / criterion(preds, labels)).item()
