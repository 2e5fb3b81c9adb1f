"""The attack on a table (Appendix A.8.1), and random entities of the same table, beside which it is read."""

from collections.abc import Callable, Sequence

import numpy as np

from emojiprompt.features import Level, format_level
from emojiprompt.recovery import Recoverer

RANDOM_ENTITIES = 5


def attack(
    table: Sequence[Sequence[Level]], obfuscate: Callable[[str], str], recoverer: Recoverer
) -> list[tuple[str, str]]:
    """Have every cell of a table recovered from its obfuscated value; a pair of original and answer for each."""
    return [
        (format_level(level), recoverer.recover(level.feature, obfuscate(level.value)))
        for row in table
        for level in row
    ]


def random_entities(
    table: Sequence[Sequence[Level]], generator: np.random.Generator, count: int = RANDOM_ENTITIES
) -> list[tuple[str, str]]:
    """Each level of a table with some others of the table in place of what was recovered."""
    levels = sorted({level for row in table for level in row}, key=format_level)
    pairs = []
    for place, level in enumerate(levels):
        others = levels[:place] + levels[place + 1 :]
        for other in generator.choice(len(others), size=count, replace=False):
            pairs.append((format_level(level), format_level(others[other])))
    return pairs
