"""Judgements of people, and how well scores agree with them at the level of segments and of systems."""

import torch
from torch import Generator, Tensor

from bert_score.correlation import pearson

PARTS = ("precision", "recall", "f")


def judged(ratings: Tensor) -> Tensor:
    """The judgement of each item from the ratings of all judges, (items, judges) to (items,)."""
    return ratings.mean(dim=1)


def draw_hybrids(segments: int, systems: int, generator: Generator, count: int = 50) -> Tensor:
    """Hybrid systems, (hybrids, segments): the system whose output a hybrid has for a segment."""
    return torch.randint(systems, (count, segments), generator=generator)


def averaged(values: Tensor, hybrids: Tensor) -> Tensor:
    """Averages over the segments of each hybrid, (..., items) to (..., hybrids)."""
    segments = hybrids.shape[1]
    by_system = values.unflatten(-1, (segments, -1))
    return by_system[..., torch.arange(segments), hybrids].mean(dim=-1)


def agreement(scores: Tensor, judgements: Tensor, hybrids: Tensor) -> dict[str, float]:
    """Absolute correlations of precision, recall and F, (3, items), with judgements, (items,)."""
    of_systems, judged_systems = averaged(scores, hybrids), averaged(judgements, hybrids)
    found = {}
    for number, part in enumerate(PARTS):
        found[f"{part}/segments"] = float(pearson(scores[number], judgements).abs())
        found[f"{part}/systems"] = float(pearson(of_systems[number], judged_systems).abs())
    return found
