"""References, and candidates that differ from them by rewordings, which do no harm, and by errors, which do."""

from dataclasses import dataclass

import torch
from torch import Generator

# A word and its near-synonym: another form or a longer spelling, which n-gram matching counts as wrong.
SYNONYMS = {
    "freezing": "freezes", "cold": "coldish", "weather": "weathers", "quick": "quickly", "worker": "workers",
    "painted": "painting", "garden": "gardens", "wooden": "wood", "house": "houses", "teacher": "teaching",
    "farmer": "farmers", "bright": "brightly", "window": "windows", "market": "markets",
}  # fmt: skip
FILLERS = ("the", "is", "a", "in", "of", "and", "near", "with")
WORDS = [*SYNONYMS, *SYNONYMS.values(), *FILLERS]


@dataclass(frozen=True)
class Item:
    """A candidate, its reference, and a judgement: minus the number of errors in it."""

    candidate: str
    reference: str
    judgement: float


def make_items(count: int, generator: Generator) -> list[Item]:
    """References of six content words between fillers; candidates with up to three rewordings and three errors."""
    content = list(SYNONYMS)
    items = []
    for _ in range(count):
        chosen = [content[i] for i in torch.randperm(len(content), generator=generator)[:6].tolist()]
        altered = list(chosen)
        places = torch.randperm(6, generator=generator).tolist()
        rewordings, errors = torch.randint(4, (2,), generator=generator).tolist()
        unused = [word for word in content if word not in chosen]
        for place in places[:rewordings]:
            altered[place] = SYNONYMS[altered[place]]
        for number, place in enumerate(places[3 : 3 + errors]):
            altered[place] = unused[number]
        fillers = [FILLERS[i] for i in torch.randint(len(FILLERS), (6,), generator=generator).tolist()]
        kept = int(torch.randint(3, 7, (), generator=generator))
        reference = " ".join(f"{filler} {word}" for filler, word in zip(fillers, chosen, strict=True))
        candidate = " ".join(
            f"{filler} {word}" if place < kept else word
            for place, (filler, word) in enumerate(zip(fillers, altered, strict=True))
        )
        items.append(Item(candidate, reference, -float(errors)))
    return items
