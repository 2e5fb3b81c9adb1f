"""Film reviews in pairs: the same opening, one review that is mostly kind and one that is mostly harsh.

The kind one is preferred, which makes a small counterpart of the controlled sentiment task (section 5.1).
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import torch
from torch import Generator, Tensor

from tokenizer import LINKS, NEGATIVE, POSITIVE, SUBJECTS, Tokenizer

IGNORED = -100


@dataclass(frozen=True)
class PairBatch:
    """Pairs of sequences; labels are the tokens of the completions, IGNORED elsewhere. All (batch, length)."""

    chosen: Tensor
    chosen_labels: Tensor
    rejected: Tensor
    rejected_labels: Tensor

    def __len__(self) -> int:
        return len(self.chosen)

    def select(self, rows: Tensor) -> "PairBatch":
        """The pairs of these rows."""
        return PairBatch(*(getattr(self, field.name)[rows] for field in fields(self)))


def make_pairs(count: int, tokenizer: Tokenizer, generator: Generator, purity: float = 0.8) -> PairBatch:
    """Draw pairs; a verdict agrees with the review's attitude with probability `purity`."""
    chosen, rejected = [], []
    for _ in range(count):
        prompt = tokenizer.encode(f"the {_pick(SUBJECTS, generator)} was")
        for reviews, kind in ((chosen, True), (rejected, False)):
            review = tokenizer.encode(_review(kind, purity, generator))
            reviews.append((prompt, [*review, tokenizer.end]))
    length = max(len(prompt) + len(review) for prompt, review in chosen + rejected)
    return PairBatch(*_pad(chosen, length, tokenizer.pad), *_pad(rejected, length, tokenizer.pad))


def minibatches(pairs: PairBatch, size: int, steps: int, generator: Generator) -> Iterator[PairBatch]:
    """Yield `steps` batches, in a new order each time through the data; a rest too small for a batch is left out."""
    order = torch.empty(0, dtype=torch.long)
    for _ in range(steps):
        if len(order) < size:
            order = torch.randperm(len(pairs), generator=generator)
        yield pairs.select(order[:size])
        order = order[size:]


def _review(kind: bool, purity: float, generator: Generator) -> str:
    words = []
    for position in range(int(torch.randint(1, 4, (), generator=generator))):
        agrees = torch.rand((), generator=generator).item() < purity
        if position:
            words.append(_pick(LINKS, generator))
        words.append(_pick(POSITIVE if agrees == kind else NEGATIVE, generator))
    return " ".join(words)


def _pick(words: tuple[str, ...], generator: Generator) -> str:
    return words[int(torch.randint(len(words), (), generator=generator))]


def _pad(reviews: list[tuple[list[int], list[int]]], length: int, pad: int) -> tuple[Tensor, Tensor]:
    """Tokens padded on the right, and labels that ignore prompts and padding; both (batch, length)."""
    tokens = torch.full((len(reviews), length), pad)
    labels = torch.full((len(reviews), length), IGNORED)
    for row, (prompt, review) in enumerate(reviews):
        end = len(prompt) + len(review)
        tokens[row, :end] = torch.tensor(prompt + review)
        labels[row, len(prompt) : end] = torch.tensor(review)
    return tokens, labels
