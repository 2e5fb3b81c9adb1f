"""Questions with a memorised answer, and documents that confirm or contradict it, after NQ and NQ-Swap."""

from dataclasses import dataclass

import torch
from torch import Generator

PLACES = ["arden", "bryn", "corva", "delm", "eskar", "fjell", "garth", "holm", "istra", "jarva", "kolm", "lorn"]
GIVEN = ["ada", "ben", "cleo", "dev", "eva", "finn", "gil", "hana", "ira", "jon", "kaia", "leo"]
FAMILY = ["moss", "north", "oake", "pell", "quist", "reed", "stone", "thorn", "usher", "vale", "wick", "york"]
OPENINGS = ("reports say", "it was announced that", "papers write")
CLOSINGS = ("took over", "won the vote today", "moved into office")
QUESTION = "who leads {place} ?"
WORDS = [
    *PLACES, *GIVEN, *FAMILY,
    *" ".join([*OPENINGS, *CLOSINGS, QUESTION.format(place="")]).split(),
]  # fmt: skip


@dataclass(frozen=True)
class Example:
    """A question, a document, and the answer that the document supports."""

    question: str
    document: str
    answer: str


def draw_facts(generator: Generator) -> dict[str, str]:
    """Who leads each place, as the model will learn it: no name occurs twice."""
    given, family = (torch.randperm(len(names), generator=generator).tolist() for names in (GIVEN, FAMILY))
    return {place: f"{GIVEN[i]} {FAMILY[j]}" for place, i, j in zip(PLACES, given, family, strict=True)}


def make_examples(facts: dict[str, str], generator: Generator, swapped: bool, copies: int) -> list[Example]:
    """`copies` examples a place. With `swapped` the document names the leader of another place."""
    examples = []
    for position, place in enumerate(PLACES * copies):
        shift = int(torch.randint(1, len(PLACES), (), generator=generator)) if swapped else 0
        name = facts[PLACES[(position + shift) % len(PLACES)]]
        opening, closing = (options[_draw(len(options), generator)] for options in (OPENINGS, CLOSINGS))
        examples.append(Example(QUESTION.format(place=place), f"{opening} {name} {closing}", name))
    return examples


def _draw(count: int, generator: Generator) -> int:
    return int(torch.randint(count, (), generator=generator))
