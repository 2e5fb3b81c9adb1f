"""Captions, and system captions that differ from them by rewordings, which do no harm, and by errors, which do."""

from dataclasses import dataclass

import torch
from torch import Generator

# The words of a concept mean nearly the same.
NOUNS = (
    ("sailor", "seaman"),
    ("worker", "labourer"),
    ("boat", "canoe"),
    ("jacket", "coat"),
    ("dog", "hound"),
    ("road", "street"),
)
VERBS = (("notice", "spot"), ("pull", "haul"), ("like", "enjoy"), ("follow", "trail"))
ADJECTIVES = (("red", "crimson"), ("big", "large"), ("old", "aged"), ("quick", "fast"), ("bright", "shiny"))
STOP_WORDS = frozenset({"the", "this", "near"})
MEANINGS = {word: words[0] for words in (*NOUNS, *VERBS, *ADJECTIVES) for word in words}
PIECES = [*MEANINGS, *sorted(STOP_WORDS), "##s"]

# A caption's places: which concepts may stand there, and how a word stands in its sentence.
PLACES = (
    (ADJECTIVES, "the {}"), (NOUNS, "{}"), (VERBS, "{}s"), (ADJECTIVES, "this {}"), (NOUNS, "{}"),
    (ADJECTIVES, "near the {}"), (NOUNS, "{}s ."),
)  # fmt: skip


@dataclass(frozen=True)
class Item:
    """A system text, its reference, and what a human thinks of it: the better, the higher."""

    reference: str
    hypothesis: str
    judgement: float


def make_items(count: int, generator: Generator) -> list[Item]:
    """System texts with up to four rewordings and up to four errors, and judgements with a little noise."""

    def draw(limit: int) -> int:
        return int(torch.randint(limit, (), generator=generator))

    items = []
    for _ in range(count):
        concepts = [draw(len(choices)) for choices, _ in PLACES]
        words = [0] * len(PLACES)
        reference = _caption(concepts, words)
        errors = draw(5)
        for place in torch.randperm(len(PLACES), generator=generator)[:errors].tolist():
            choices = len(PLACES[place][0])
            concepts[place] = (concepts[place] + 1 + draw(choices - 1)) % choices
        for place in torch.randperm(len(PLACES), generator=generator)[: draw(5)].tolist():
            words[place] = 1
        judgement = -errors + 0.3 * float(torch.randn((), generator=generator))
        items.append(Item(reference, _caption(concepts, words), judgement))
    return items


def _caption(concepts: list[int], words: list[int]) -> str:
    places = zip(PLACES, concepts, words, strict=True)
    return " ".join(form.format(choices[concept][word]) for (choices, form), concept, word in places)
