"""A toy language with a rule: a good completion counts up from the prompt's last token, a bad one wanders.

Some pairs are labelled the wrong way round, as people's choices are.
"""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from utils import pad

FIRST, LAST = 1, 11


@dataclass(frozen=True)
class PairBatch:
    """Pairs of sequences; labels are the tokens of the completions, -100 elsewhere. All of shape (batch, length)."""

    chosen: Tensor
    chosen_labels: Tensor
    rejected: Tensor
    rejected_labels: Tensor


def make_pairs(count: int, generator: Generator, wrong_labels: float = 0.1) -> PairBatch:
    """Draw prompts with a good and a worse completion, of two to five tokens each."""
    chosen, rejected, prompt_lengths = [], [], []
    for _ in range(count):
        prompt = torch.randint(FIRST, LAST + 1, (3,), generator=generator).tolist()
        good = _count_up(prompt[-1], int(torch.randint(2, 6, (), generator=generator)))
        bad = torch.randint(FIRST, LAST + 1, (int(torch.randint(2, 6, (), generator=generator)),), generator=generator)
        pair = [prompt + good, prompt + bad.tolist()]
        if torch.rand((), generator=generator) < wrong_labels:
            pair.reverse()
        chosen.append(pair[0])
        rejected.append(pair[1])
        prompt_lengths.append(len(prompt))
    return PairBatch(*pad(chosen, prompt_lengths), *pad(rejected, prompt_lengths))


def _count_up(start: int, length: int) -> list[int]:
    return [FIRST + (start + step) % LAST for step in range(length)]
