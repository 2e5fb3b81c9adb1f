"""Supervised fine-tuning: the start of preference optimisation."""

import torch
import torch.nn.functional as F
from torch import Tensor

from data import IGNORED
from model import TinyLM


def fine_tune(model: TinyLM, tokens: Tensor, labels: Tensor, steps: int, learning_rate: float = 1e-2) -> None:
    """Maximise the likelihood of the labelled tokens, in place; tokens and labels are (batch, length)."""
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    for _ in range(steps):
        optimizer.zero_grad()
        logits = model(tokens)[:, :-1]
        loss = F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORED)
        loss.backward()
        optimizer.step()
