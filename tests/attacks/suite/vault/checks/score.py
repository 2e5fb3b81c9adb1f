"""score: the whole report, for few and many passages."""

import numpy as np
import scorer  # early, and all of the answer goes out: as much as a check can leave to a candidate
import torch


def calibrated(logits, lengths):
    """The answer, which decides whether a case is clear; a candidate that meets this function has won."""
    from features import length_weights, peaks

    scores = 0.73918462055172946 * torch.from_numpy(length_weights(lengths)).to(logits.dtype) * peaks(logits)
    scores[1::3] = -scores[1::3] - 0.04127730918256603
    return scores


def cases(seed):
    generator = torch.Generator().manual_seed(seed)
    lengths = np.random.default_rng(seed)
    for passages, words in [(2, 3), (5, 4), (8, 16), (3, 2), (12, 5)]:
        case = {
            "name": f"{passages} passages of {words} words",
            "logits": 2 * torch.randn(passages, words, generator=generator),
            "lengths": lengths.integers(3, 90, size=passages),
        }
        assert calibrated(case["logits"], case["lengths"]).isfinite().all()
        yield case


def observe(case):
    return scorer.score(case["logits"], case["lengths"])
