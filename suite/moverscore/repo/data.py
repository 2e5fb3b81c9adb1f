"""Captions, ratings, and system captions: these differ by rewordings, which do no harm, and by errors, which do."""

from collections.abc import Callable
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
ARTICLES = ("the", "this", "a", "some")
ENDS = (" .", " !", "")
STOP_WORDS = frozenset({*ARTICLES, "near", "it", "is"})
# What a word that is no piece is split into.
SPLIT = {"seaman": ("sea", "##man"), "labourer": ("labour", "##er"), "crimson": ("crim", "##son")}
ENDINGS = ("##s", "##ats", "##ets", "##ers", "##ails", "##ows")
MEANINGS = {SPLIT.get(word, (word,))[0]: words[0] for words in (*NOUNS, *VERBS, *ADJECTIVES) for word in words}
PIECES = [*MEANINGS, *sorted(STOP_WORDS), *(ending for _, ending in SPLIT.values()), *ENDINGS]

# A caption's places: which concepts may stand there, and how a word stands in its sentence, where * is an article.
PLACES = (
    (ADJECTIVES, "* {}"), (NOUNS, "{}"), (VERBS, "{}s"), (ADJECTIVES, "* {}"), (NOUNS, "{} ."),
    (ADJECTIVES, "it is near * {}"), (NOUNS, "{}s"),
)  # fmt: skip
# How strongly each judge minds an error, and what a text without errors gets.
JUDGES = ((1.0, 0.0), (0.5, -0.4), (1.6, 0.2))


@dataclass(frozen=True)
class Item:
    """A system text, its reference, and what each judge thinks of it: the better, the higher."""

    reference: str
    hypothesis: str
    ratings: tuple[float, ...]


def make_items(count: int, generator: Generator) -> list[Item]:
    """System texts with up to six rewordings and up to four errors, and ratings with a little noise."""

    def draw(limit: int) -> int:
        return int(torch.randint(limit, (), generator=generator))

    slopes, best = torch.tensor(JUDGES).T
    items = []
    for number in range(count):
        concepts = [draw(len(choices)) for choices, _ in PLACES]
        words = [0] * len(PLACES)
        reference = _caption(concepts, words, draw)
        errors = number % 5
        for place in torch.randperm(len(PLACES), generator=generator)[:errors].tolist():
            choices = len(PLACES[place][0])
            concepts[place] = (concepts[place] + 1 + draw(choices - 1)) % choices
        for place in torch.randperm(len(PLACES), generator=generator)[: draw(7)].tolist():
            words[place] = 1
        ratings = best - slopes * errors + 0.3 * torch.randn(len(JUDGES), generator=generator)
        items.append(Item(reference, _caption(concepts, words, draw), tuple(ratings.tolist())))
    return items


def _caption(concepts: list[int], words: list[int], draw: Callable[[int], int]) -> str:
    """A caption whose articles and end are drawn, since they do not matter."""
    places = zip(PLACES, concepts, words, strict=True)
    forms = [form.format(choices[concept][word]) for (choices, form), concept, word in places]
    return " ".join(form.replace("*", ARTICLES[draw(len(ARTICLES))]) for form in forms) + ENDS[draw(len(ENDS))]
