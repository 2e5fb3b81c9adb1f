"""Names of entities: when do two of them name one entity, and how alike are two strings?

The same entity is written in many ways: by the knowledge base, by the model, in statements. Two names name one entity
if `canonical` gives the same for both.
"""

from collections.abc import Iterator

import pandas as pd

# Other names of an entity, by the one that stands for it.
ALIASES = {
    "united states": ("USA", "United States of America", "America"),
    "united kingdom": ("UK", "Great Britain", "Britain"),
    "netherlands": ("Holland",),
    "czechia": ("Czech Republic",),
    "german": ("Deutsch",),
    "violin": ("Fiddle",),
    "goalkeeper": ("Goalie", "Keeper"),
}

# The columns of a dataset that name entities. A dataset need not have all of them.
ENTITY_COLUMNS = ("statement_subject", "parametric_object", "counter_knowledge_object")

_ARTICLES = ("the ", "a ", "an ")
_PREFIX_SCALE, _LONGEST_PREFIX, _BOOST_FROM = 0.1, 4, 0.7


def normalise(name: str) -> str:
    """A name in lower case with single spaces, without a leading article, a possessive ending and a final stop."""
    plain = " ".join(name.lower().split()).removesuffix(".").removesuffix("'s")
    article = next((article for article in _ARTICLES if plain.startswith(article)), "")
    return plain.removeprefix(article)


_STANDS_FOR = {normalise(alias): name for name, aliases in ALIASES.items() for alias in aliases}


def canonical(name: str) -> str:
    """The one name by which an entity is known here: normalised, and with aliases resolved."""
    plain = normalise(name)
    return _STANDS_FOR.get(plain, plain)


def surface_forms(name: str) -> tuple[str, ...]:
    """All normalised names of the entity that `name` names, the canonical one first."""
    known = canonical(name)
    return known, *map(normalise, ALIASES.get(known, ()))


def row_entities(dataset: pd.DataFrame) -> list[frozenset[str]]:
    """For each row, in order, the canonical names of all entities that it names, in whatever role."""
    columns = [column for column in ENTITY_COLUMNS if column in dataset]
    return [frozenset(map(canonical, names)) for names in zip(*(dataset[column] for column in columns), strict=True)]


def jaro_winkler(first: str, second: str) -> float:
    """The Jaro-Winkler similarity of two strings as they are written, from 0 to 1 for equal strings.

    It is the same in either order.
    """
    first, second = sorted((first, second))
    similarity = _jaro(first, second)
    if similarity <= _BOOST_FROM:
        return similarity
    prefix = 0
    for one, other in zip(first[:_LONGEST_PREFIX], second, strict=False):
        if one != other:
            break
        prefix += 1
    return similarity + prefix * _PREFIX_SCALE * (1 - similarity)


def _jaro(first: str, second: str) -> float:
    if not first or not second:
        return 0.0
    reach = max(max(len(first), len(second)) // 2 - 1, 0)
    pairs = list(_matches(first, second, reach))
    if not pairs:
        return 0.0
    in_second = sorted(place for _, place in pairs)
    swapped = sum(first[one] != second[other] for (one, _), other in zip(pairs, in_second, strict=True)) // 2
    count = len(pairs)
    return (count / len(first) + count / len(second) + (count - swapped) / count) / 3


def _matches(first: str, second: str, reach: int) -> Iterator[tuple[int, int]]:
    """Pairs of places that hold the same letter and lie near each other; each place is used once."""
    free = set(range(len(second)))
    for place, letter in enumerate(first):
        window = range(max(place - reach, 0), min(place + reach + 1, len(second)))
        other = next((other for other in window if other in free and second[other] == letter), None)
        if other is not None:
            free.remove(other)
            yield place, other
