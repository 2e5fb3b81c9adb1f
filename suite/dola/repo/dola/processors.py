"""Processors of scores: each is called with the ids so far and the scores of the next token, and returns scores.

A processor may write to the scores that it gets, and return them or others. It leaves the ids as they are.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Processor = Callable[[Tensor, Tensor], Tensor]
"""Takes ids (batch, length so far), with all padding, and scores (batch, vocabulary); returns scores of that shape."""


class RepetitionPenalty:
    """Makes tokens less attractive that a row already holds: positive scores are divided, negative ones multiplied."""

    def __init__(self, penalty: float) -> None:
        self.penalty = penalty

    def __call__(self, ids: Tensor, scores: Tensor) -> Tensor:
        found = scores.gather(1, ids)
        return scores.scatter(1, ids, torch.where(found < 0, found * self.penalty, found / self.penalty))


class Ban:
    """Rules tokens out."""

    def __init__(self, token_ids: Sequence[int]) -> None:
        self.token_ids = list(token_ids)

    def __call__(self, ids: Tensor, scores: Tensor) -> Tensor:
        scores[:, self.token_ids] = -torch.inf
        return scores


class Follow:
    """Lets each row say what a reference says, and nothing else: teacher forcing.

    start: length of the padded prompts.
    reference: (batch, steps), the tokens to follow.
    """

    def __init__(self, start: int, reference: Tensor) -> None:
        self.start = start
        self.reference = reference

    def __call__(self, ids: Tensor, scores: Tensor) -> Tensor:
        wanted = self.reference[:, ids.shape[1] - self.start].unsqueeze(1)
        return torch.full_like(scores, -torch.inf).scatter(1, wanted, scores.gather(1, wanted))
