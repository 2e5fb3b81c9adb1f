"""Questions with two answers each: the winning one is mostly made of facts, the losing one mostly of fillers.

How long an answer is says nothing of how good it is; half of the winners are the shorter ones.
"""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from tokenizer import FACTS, FILLERS, TOPICS, Tokenizer

IGNORED = -100


@dataclass(frozen=True)
class PairBatch:
    """Pairs of sequences; labels are the tokens of the responses, IGNORED elsewhere.

    Chosen sequences are (batch, chosen length), rejected ones (batch, rejected length).
    """

    chosen: Tensor
    chosen_labels: Tensor
    rejected: Tensor
    rejected_labels: Tensor

    def __len__(self) -> int:
        return len(self.chosen)


def make_pairs(count: int, tokenizer: Tokenizer, generator: Generator, purity: float = 0.8) -> PairBatch:
    """Draw pairs; each word of a winner is a fact, and each of a loser a filler, with probability `purity`."""
    chosen, rejected = [], []
    for _ in range(count):
        prompt = tokenizer.encode(f"what is the {_pick(TOPICS, generator)}")
        for answers, share_of_facts in ((chosen, purity), (rejected, 1 - purity)):
            answer = tokenizer.encode(_answer(share_of_facts, generator))
            answers.append((prompt, [*answer, tokenizer.end]))
    return PairBatch(*collate(chosen, tokenizer.pad), *collate(rejected, tokenizer.pad))


def collate(examples: list[tuple[list[int], list[int]]], pad: int) -> tuple[Tensor, Tensor]:
    """Prompts and responses as tokens padded on the right, and their labels; both (batch, length)."""
    length = max(len(prompt) + len(response) for prompt, response in examples)
    tokens = torch.full((len(examples), length), pad)
    labels = torch.full((len(examples), length), IGNORED)
    for row, (prompt, response) in enumerate(examples):
        end = len(prompt) + len(response)
        tokens[row, :end] = torch.tensor(prompt + response)
        labels[row, len(prompt) : end] = torch.tensor(response)
    return tokens, labels


def pad_to_length(rows: Tensor, length: int, value: int) -> Tensor:
    """Rows (batch, shorter) filled up with `value` on the right, (batch, length)."""
    filling = rows.new_full((len(rows), length - rows.shape[1]), value)
    return torch.cat([rows, filling], dim=1)


def _answer(share_of_facts: float, generator: Generator) -> str:
    length = int(torch.randint(1, 9, (), generator=generator))
    kinds = (torch.rand(length, generator=generator) < share_of_facts).tolist()
    return " ".join(_pick(FACTS if is_fact else FILLERS, generator) for is_fact in kinds)


def _pick(words: tuple[str, ...], generator: Generator) -> str:
    return words[int(torch.randint(len(words), (), generator=generator))]
