"""Synthetic datasets of binary questions, named after those of the paper whose concept they imitate.

They differ in how much of a text has to be put together, and in how far it lies from the question mark.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vocabulary import ABUSE, COUNTRIES, FILLERS, FLIPS, NAMES, NOISE, PERSONS, QUESTION, REGIONS, THINGS, TONE

Labels = NDArray[np.int64]
Groups = dict[int, tuple[str, ...]]


@dataclass(frozen=True)
class Dataset:
    """Texts written so that the concept holds, and texts written so that it does not.

    The labels are those of annotators, 1 for yes and 0 for no, one for each text of the same side in the same order.
    An annotator may disagree with the side on which a text stands: then there are zeros on the positive side and ones
    on the negative side.
    """

    name: str
    category: str
    texts_pos: list[str]
    texts_neg: list[str]
    labels_pos: Labels
    labels_neg: Labels


@dataclass(frozen=True)
class Concept:
    """How texts of a dataset are written, and the share of annotators that are wrong."""

    name: str
    category: str
    write: Callable[[np.random.Generator, bool], list[str]]
    mistakes: float


def _pick(generator: np.random.Generator, words: tuple[str, ...]) -> str:
    return words[generator.integers(len(words))]


def _fill(generator: np.random.Generator, count: int) -> list[str]:
    return [_pick(generator, FILLERS) for _ in range(count)]


def _sign(generator: np.random.Generator) -> int:
    return 1 if generator.random() < 0.5 else -1


def _write_hateeval(generator: np.random.Generator, holds: bool) -> list[str]:
    """One word decides, and it stands near the end."""
    word = _pick(generator, ABUSE[1 if holds else -1])
    return [*_fill(generator, 6), word, *_fill(generator, 1)]


def _write_stsa(generator: np.random.Generator, holds: bool) -> list[str]:
    """Two of three words have the tone of the whole."""
    whole = 1 if holds else -1
    tones = [whole, whole, -whole if generator.random() < 0.7 else whole]
    words = [_pick(generator, TONE[tones[place]]) for place in generator.permutation(3)]
    return [
        *_fill(generator, 2),
        words[0],
        *_fill(generator, 1),
        words[1],
        *_fill(generator, 1),
        words[2],
        *_fill(generator, 1),
    ]


def _write_pair(
    generator: np.random.Generator, holds: bool, first: Groups, second: Groups, before: int, between: int, after: int
) -> list[str]:
    """Two words of two groups each: the concept holds where both are of the same group."""
    sign = _sign(generator)
    one = _pick(generator, first[sign])
    other = _pick(generator, second[sign if holds else -sign])
    return [*_fill(generator, before), one, *_fill(generator, between), other, *_fill(generator, after)]


def _write_cities(generator: np.random.Generator, holds: bool) -> list[str]:
    """Is the city in the country?"""
    return _write_pair(generator, holds, REGIONS, COUNTRIES, 4, 1, 1)


def _write_strategyqa(generator: np.random.Generator, holds: bool) -> list[str]:
    """Could the person have owned the thing? Both are judged by their time, which no word of the text names."""
    return _write_pair(generator, holds, PERSONS, THINGS, 1, 3, 2)


def _write_coinflip(generator: np.random.Generator, holds: bool) -> list[str]:
    """Three people flip a coin or leave it: is it still heads up?"""
    signs = [_sign(generator), _sign(generator)]
    signs.append((1 if holds else -1) * signs[0] * signs[1])
    words: list[str] = []
    for sign in signs:
        words += [_pick(generator, NAMES), _pick(generator, FLIPS[sign])]
    return [*words, *_fill(generator, 2)]


CONCEPTS = (
    Concept("hateeval", "emotion", _write_hateeval, 0.1),
    Concept("cities", "fact", _write_cities, 0.0),
    Concept("stsa", "emotion", _write_stsa, 0.03),
    Concept("strategyqa", "reasoning", _write_strategyqa, 0.06),
    Concept("coinflip", "reasoning", _write_coinflip, 0.0),
)


def make_dataset(concept: Concept, texts: int, generator: np.random.Generator) -> Dataset:
    """As many different texts on each side, all of which end with the question mark."""
    sides: dict[bool, list[str]] = {}
    labels: dict[bool, Labels] = {}
    for holds in (True, False):
        written: dict[str, None] = {}
        while len(written) < texts:
            written[" ".join([*concept.write(generator, holds), QUESTION])] = None
        wrong = generator.random(texts) < concept.mistakes
        sides[holds] = list(written)
        labels[holds] = (wrong != holds).astype(np.int64)
    return Dataset(concept.name, concept.category, sides[True], sides[False], labels[True], labels[False])


def add_noise(dataset: Dataset, generator: np.random.Generator) -> Dataset:
    """Each text with one of two strings in front, drawn evenly and without a look at the label (appendix A.3)."""

    def perturb(texts: list[str]) -> list[str]:
        return [f"{_pick(generator, NOISE)} {text}" for text in texts]

    return Dataset(
        dataset.name,
        dataset.category,
        perturb(dataset.texts_pos),
        perturb(dataset.texts_neg),
        dataset.labels_pos,
        dataset.labels_neg,
    )
