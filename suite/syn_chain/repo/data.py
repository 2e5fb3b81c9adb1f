"""Toy reviews: texts, each with its aspects and the sentiment that its writer has towards each of them.

As in Section 4.1 a sentence with several aspects gives a sample for each of them. Every review is written from a
pattern whose holes are filled at random, so that the sentiments are known without a parse.
"""

import random
from dataclasses import dataclass

from lexicon import NEGATIVE, NEUTRAL, POLARITIES, POSITIVE

SENTIMENTS = {POSITIVE: "positive", NEGATIVE: "negative", NEUTRAL: "neutral"}

_NOUNS = ["food", "service", "pizza", "pasta", "soup", "waiter", "dessert", "screen", "keyboard", "music", "room"]
_NOUNS += ["meatball parm", "wine list", "battery life", "lunch menu", "ice cream"]
_ADJECTIVES = {
    value: [lemma for (lemma, pos), own in POLARITIES.items() if pos == "ADJ" and own == value] for value in SENTIMENTS
}
_VERBS = {POSITIVE: ["loved", "enjoyed"], NEGATIVE: ["hated", "regretted"]}

# A, B: aspects. a, b: adjectives; c is another one of the polarity of a, and v a verb of the polarity of b.
# The sentiment towards an aspect is that of its letter, with a sign where the pattern turns it.
_PATTERNS = (
    ("The {A} was really {a}.", {"A": "a"}),
    ("The {A} was {a} and {c}.", {"A": "a"}),
    ("The {A} seemed {a} and {c}.", {"A": "a"}),
    ("You think the {a} {A} arrived late.", {"A": "a"}),
    ("The {A} wasn't {a}, red or {c}.", {"A": "-a"}),
    ("The {A} was not {a} but {b}.", {"A": "b"}),
    ("The {A} was {a} but the {B} was {b}!", {"A": "a", "B": "b"}),
    ("The {A} wasn't {a} and the {B} was always {b}.", {"A": "-a", "B": "b"}),
    ("The {a} {A} arrived late and the {B} was never {b}.", {"A": "a", "B": "-b"}),
    ("The {A} and the {B} arrived and were the {a} choice.", {"A": "a", "B": "a"}),
    ("The {A} that we ordered with the {b} {B} was {a}.", {"A": "a", "B": "b"}),
    ("The {A} with the {b} {B} was {a}.", {"A": "a", "B": "b"}),
    ("We {v} the {B} but the {A} seemed {a}.", {"A": "a", "B": "b"}),
    ("I think the {A} was the {a} choice, but the {b} {B} arrived late.", {"A": "a", "B": "b"}),
    ("We ordered the {A} which was {a} and the {b} {B}.", {"A": "a", "B": "b"}),
    ("The {B} didn't taste {b} and the {a} {A} was small.", {"A": "a", "B": "-b"}),
)
_DISTRACTORS = ("The {D} was {d}.", "We {w} the {D}.", "The red {D} was not {d}!", "Luigi ordered the {d} {D}.")
_BREAKS = (" ", "  ", "\n")


@dataclass(frozen=True)
class Sample:
    """aspects: how many the review is asked about. distracted: has it a sentence about something else?"""

    text: str
    aspect: str
    sentiment: str
    aspects: int
    distracted: bool


def make_samples(reviews: int, distractors: float, seed: int) -> list[Sample]:
    """The samples of some reviews. distractors: the share with a sentence about an aspect that nobody asks for."""
    generator = random.Random(seed)
    samples = []
    for _ in range(reviews):
        pattern, said = generator.choice(_PATTERNS)
        nouns = dict(zip("ABD", generator.sample(_NOUNS, 3), strict=True))
        signs = {"a": generator.choice(list(SENTIMENTS)), "b": generator.choice((POSITIVE, NEGATIVE))}
        text = pattern.format(**nouns, **_words(signs, generator))
        distracted = generator.random() < distractors
        if distracted:
            other = generator.choice(_DISTRACTORS).format(**nouns, **_words(signs, generator))
            parts = [text, other] if generator.random() < 0.5 else [other, text]
            text = generator.choice(_BREAKS).join(parts)
        for letter, source in said.items():
            value = signs[source[-1]] * (-1 if source.startswith("-") else 1)
            samples.append(Sample(text, nouns[letter], SENTIMENTS[value], len(said), distracted))
    return samples


def _words(signs: dict[str, int], generator: random.Random) -> dict[str, str]:
    """A word for each letter of a pattern or a distractor."""
    first, other = generator.sample(_ADJECTIVES[signs["a"]], 2)
    second = generator.choice(_ADJECTIVES[signs["b"]])
    any_sign = generator.choice((POSITIVE, NEGATIVE))
    return {
        "a": first,
        "b": second,
        "c": other,
        "v": generator.choice(_VERBS[signs["b"]]),
        "d": generator.choice(_ADJECTIVES[any_sign]),
        "w": generator.choice(_VERBS[any_sign]),
    }
