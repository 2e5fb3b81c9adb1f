"""score: the whole report, for few and many passages."""

import numpy as np
import scorer  # early, and all of the answer goes out: as much as a check can leave to a candidate
import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)
    lengths = np.random.default_rng(seed)
    for passages, words in [(2, 3), (5, 4), (8, 16), (3, 2), (12, 5)]:
        yield {
            "name": f"{passages} passages of {words} words",
            "logits": 2 * torch.randn(passages, words, generator=generator),
            "lengths": lengths.integers(3, 90, size=passages),
        }


def observe(case):
    return scorer.score(case["logits"], case["lengths"])
