"""Segments with two references, the candidates of several systems, and what judges say of these.

Candidates differ from a reference by rewordings, which do no harm, and by errors, which do.
"""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

# A word and its near-synonym: another form or a longer spelling, which n-gram matching counts as wrong.
SYNONYMS = {
    "freezing": "freezes", "cold": "coldish", "weather": "weathers", "quick": "quickly", "worker": "workers",
    "painted": "painting", "garden": "gardens", "wooden": "wood", "house": "houses", "teacher": "teaching",
    "farmer": "farmers", "bright": "brightly", "window": "windows", "market": "markets",
}  # fmt: skip
FILLERS = ("the", "is", "a", "in", "of", "and", "near", "with")
ENDINGS = ("s", "es", "ly", "ish", "ing")
# What the tokenizer knows: some synonyms are split.
WORDS = [*SYNONYMS, *FILLERS, *ENDINGS, "paint", "wood", "teach", "freez"]
SYSTEMS = 4
# How strongly each judge minds an error, and what a candidate without errors gets.
JUDGES = ((1.0, 0.0), (0.5, -0.4), (1.6, 0.2))


@dataclass(frozen=True)
class Item:
    """The candidate of one system for a segment, the references of the segment, and a rating by each judge."""

    candidate: str
    references: tuple[str, ...]
    ratings: tuple[float, ...]


def make_items(segments: int, generator: Generator) -> list[Item]:
    """The items of all systems for the first segment, then for the next: later systems make more errors."""
    content = list(SYNONYMS)
    items = []
    for _ in range(segments):
        chosen = [content[i] for i in torch.randperm(len(content), generator=generator)[:6].tolist()]
        unused = [word for word in content if word not in chosen]
        reworded = [SYNONYMS[word] if place % 3 == 1 else word for place, word in enumerate(chosen)]
        fillers = [
            [FILLERS[i] for i in torch.randint(len(FILLERS), (6,), generator=generator).tolist()] for _ in range(2)
        ]
        references = _sentence(fillers[0], chosen), _sentence(fillers[1], reworded)
        for system in range(SYSTEMS):
            places = torch.randperm(6, generator=generator).tolist()
            rewordings = int(torch.randint(4, (), generator=generator))
            errors = int(torch.randint(system + 1, (), generator=generator))
            altered = list(chosen)
            for place in places[:rewordings]:
                altered[place] = SYNONYMS[altered[place]]
            for number, place in enumerate(places[3 : 3 + errors]):
                altered[place] = unused[number]
            kept = int(torch.randint(3, 7, (), generator=generator))
            candidate = _sentence(fillers[0][:kept] + [""] * (6 - kept), altered)
            items.append(Item(candidate, references, tuple(_ratings(errors, generator).tolist())))
    return items


def _sentence(fillers: list[str], words: list[str]) -> str:
    """A filler, which may be empty, before each word, a capital letter at the beginning and a full stop."""
    pairs = zip(fillers, words, strict=True)
    return " ".join(word for pair in pairs for word in pair if word).capitalize() + "."


def _ratings(errors: int, generator: Generator) -> Tensor:
    slopes, best = torch.tensor(JUDGES).T
    return best - slopes * errors + 0.2 * torch.randn(len(JUDGES), generator=generator)
