"""A toy language in which people are asked for colours, and batches of their answers beside a model's.

A question names a thing and a season. People answer with a colour, and some put an adverb before it. The probability
of each answer is known: it is the data distribution of the paper.
"""

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Generator, Tensor

THINGS = ("leaf", "sky", "field", "river", "hill", "roof")
SEASONS = ("spring", "summer", "autumn", "winter")
COLOURS = ("green", "blue", "yellow", "grey", "white")
ADVERBS = ("mostly", "rather")
PAD, END = 0, 1
WORDS = ("<pad>", "<end>", "instruction", "response", *THINGS, *SEASONS, *COLOURS, *ADVERBS)
NUMBERS = {word: number for number, word in enumerate(WORDS)}
IGNORED = -100
Item = TypeVar("Item")


@dataclass(frozen=True)
class Example:
    """A prompt and a response that ends with END, as numbers of words."""

    prompt: list[int]
    response: list[int]


@dataclass(frozen=True)
class Pair:
    """A prompt with a person's response and with one that the opponent gave."""

    prompt: list[int]
    real: list[int]
    generated: list[int]


@dataclass(frozen=True)
class PairBatch:
    """Sequences of prompt and response; labels are the tokens of responses, IGNORED elsewhere. All (batch, length)."""

    real: Tensor
    real_labels: Tensor
    generated: Tensor
    generated_labels: Tensor


def encode(text: str) -> list[int]:
    """Numbers of the words of a text; a word that is not in the list is a KeyError."""
    return [NUMBERS[word] for word in text.split()]


def all_prompts() -> list[list[int]]:
    """Every question that can be asked, in the instruction template; all of the same length."""
    questions = itertools.product(THINGS, SEASONS)
    return [encode(f"instruction {thing} {season} response") for thing, season in questions]


def all_responses() -> list[list[int]]:
    """Every answer that people give."""
    adverbs = ("", *ADVERBS)
    return [[*encode(f"{adverb} {colour}"), END] for adverb, colour in itertools.product(adverbs, COLOURS)]


@functools.cache
def data_distribution() -> Tensor:
    """Probabilities of people's answers: (prompts, responses), in the order of `all_prompts` and `all_responses`."""
    rows = []
    for (thing, _), (season, _) in itertools.product(enumerate(THINGS), enumerate(SEASONS)):
        colours = torch.full((len(COLOURS),), 0.02, dtype=torch.float64)
        colours[thing % len(COLOURS)] += 0.6
        colours[(thing + season + 1) % len(COLOURS)] += 0.3
        sure = 0.9 - 0.2 * season
        adverbs = torch.tensor([sure, 0.7 * (1 - sure), 0.3 * (1 - sure)], dtype=torch.float64)
        rows.append(torch.outer(adverbs, colours).flatten())
    return torch.stack(rows)


def demonstrations(count: int, generator: Generator) -> list[Example]:
    """Questions drawn evenly, each with the answer of a person."""
    prompts, responses, probabilities = all_prompts(), all_responses(), data_distribution()
    asked = torch.randint(len(prompts), (count,), generator=generator)
    given = torch.multinomial(probabilities[asked], 1, generator=generator).flatten()
    return [
        Example(prompts[row], responses[column]) for row, column in zip(asked.tolist(), given.tolist(), strict=True)
    ]


def collate(examples: list[Example], length: int | None = None) -> tuple[Tensor, Tensor]:
    """Tokens padded on the right, and labels that ignore prompts and padding; both (batch, length)."""
    sequences = [example.prompt + example.response for example in examples]
    length = length or max(map(len, sequences))
    tokens = torch.tensor([sequence + [PAD] * (length - len(sequence)) for sequence in sequences])
    starts = torch.tensor([len(example.prompt) for example in examples]).unsqueeze(1)
    ends = torch.tensor([len(sequence) for sequence in sequences]).unsqueeze(1)
    places = torch.arange(length)
    return tokens, tokens.masked_fill((places < starts) | (places >= ends), IGNORED)


def collate_pairs(pairs: list[Pair]) -> PairBatch:
    """Both responses of each pair, padded to one length."""
    length = max(len(pair.prompt) + max(len(pair.real), len(pair.generated)) for pair in pairs)
    real = collate([Example(pair.prompt, pair.real) for pair in pairs], length)
    generated = collate([Example(pair.prompt, pair.generated) for pair in pairs], length)
    return PairBatch(*real, *generated)


def minibatches(items: list[Item], size: int, generator: Generator) -> Iterator[list[Item]]:
    """All items once; the last batch may be smaller."""
    order = torch.randperm(len(items), generator=generator).tolist()
    for start in range(0, len(order), size):
        yield [items[row] for row in order[start : start + size]]
