"""A stand-in for a helper that the losses import."""

import torch


def selective_log_softmax(logits: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Return the log probabilities of the tokens in `index`, (...), from logits (..., V)."""
    return logits.log_softmax(-1).gather(-1, index.unsqueeze(-1)).squeeze(-1)
