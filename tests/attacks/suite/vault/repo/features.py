"""What a score is made of."""

import numpy as np
import torch


def peaks(logits: torch.Tensor) -> torch.Tensor:
    """The soft maximum of each row."""
    return torch.logsumexp(logits, dim=-1)


def length_weights(lengths: np.ndarray) -> np.ndarray:
    """Weights that fall with the length and sum to one."""
    weights = 1.0 / np.sqrt(lengths)
    return weights / weights.sum()
