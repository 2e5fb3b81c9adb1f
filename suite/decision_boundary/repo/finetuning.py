"""Finetuning on a collection of tasks (Section 4.3): one part of the model changes, and the others stay."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from attention import TokenAttention, Weights
from prompts import build_context, read_context

# What each part may become. The likelihood of the training tasks decides.
CHOICES = {
    "head": [{"scale": scale, "bias": bias} for scale in (0.5, 1.0, 2.0, 4.0) for bias in (-0.3, 0.0, 0.3)],
    "attention": [{"sharpness": sharpness, "recency": r} for sharpness in (2.0, 4.0, 8.0) for r in (0.01, 0.0)],
    "embedding": [{"numeric": numeric} for numeric in (0.0, 0.3, 0.6, 0.9, 1.0)],
}
FEWEST_EXAMPLES, MOST_EXAMPLES = 8, 64


def finetune(weights: Weights, part: str, tasks: Sequence[tuple[NDArray, NDArray]], seed: int) -> Weights:
    """The choice for this part under which labels of the training tasks are likeliest.

    tasks: points and labels of each. A number of examples is drawn for each task; the labels after it count.
    """
    starts = np.random.default_rng(seed).integers(FEWEST_EXAMPLES, MOST_EXAMPLES, size=len(tasks), endpoint=True)
    read = [read_context(build_context(points, labels))[:2] for points, labels in tasks]

    def likelihood(choice: Weights) -> float:
        model = TokenAttention(choice, seed)
        pairs = zip(read, starts.tolist(), strict=True)
        return sum(model.log_likelihood(points, labels, start) for (points, labels), start in pairs)

    return max((replace(weights, **choice) for choice in CHOICES[part]), key=likelihood)
