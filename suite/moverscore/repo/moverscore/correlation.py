"""Agreement of a metric with human judgement, and a lexical metric to compare with."""

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor


def judged(ratings: Tensor) -> Tensor:
    """The judgement of each text from the ratings of all judges, (texts, judges) to (texts,)."""
    return ratings.mean(dim=1)


def pearson(scores: Sequence[float], judgements: Sequence[float]) -> float:
    """Pearson's r."""
    return float(torch.corrcoef(torch.tensor([scores, judgements], dtype=torch.float64))[0, 1])


def unigram_overlap(reference: str, hypothesis: str) -> float:
    """F1 of the words that two texts share, each counted as often as both hold it."""
    counts = Counter(reference.split()), Counter(hypothesis.split())
    return 2 * (counts[0] & counts[1]).total() / (counts[0].total() + counts[1].total())
