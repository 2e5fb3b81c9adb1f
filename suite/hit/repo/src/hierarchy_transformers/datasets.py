"""A small hierarchy of things, its direct and indirect subsumptions, and triplets and pairs drawn from it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Generator

THINGS = {
    "plant": {
        "tree": ("oak tree", "scots pine", "birch"),
        "garden flower": ("rose", "wild tulip", "daisy"),
        "fruit": ("berry", "apple", "sweet melon"),
    },
    "animal": {
        "bird": ("robin", "golden eagle", "owl"),
        "fish": ("brook trout", "salmon", "cod"),
        "mammal": ("dog", "house cat", "horse"),
    },
    "electronic device": {
        "computer": ("laptop", "tablet", "personal computer"),
        "phone": ("smart phone", "satellite phone", "pager"),
        "camera": ("film camera", "webcam", "camcorder"),
    },
}
ROOT = "entity"


@dataclass(frozen=True)
class Triplet:
    """An entity, one of its parents, and a negative parent: neither the entity nor one of its ancestors."""

    entity: str
    parent: str
    negative: str


@dataclass(frozen=True)
class Hierarchy:
    """A tree by the parent of every entity but the root."""

    parent: dict[str, str]
    entities: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entities", tuple(dict.fromkeys((*self.parent.values(), *self.parent))))

    def ancestors(self, entity: str) -> tuple[str, ...]:
        """The parent, the parent's parent, and so on."""
        return tuple(self._climb(entity))

    def depth(self, entity: str) -> int:
        """Number of hops to the root."""
        return len(self.ancestors(entity))

    def direct(self) -> list[tuple[str, str]]:
        """Asserted subsumptions."""
        return list(self.parent.items())

    def indirect(self) -> list[tuple[str, str]]:
        """Subsumptions that follow by transitivity."""
        return [(entity, ancestor) for entity in self.entities for ancestor in self.ancestors(entity)[1:]]

    def negatives(self, entity: str, hard: bool = False) -> list[str]:
        """All entities that do not subsume the entity, or (hard) those of them that share its parent."""
        excluded = {entity, *self.ancestors(entity)}
        candidates = [other for other in self.entities if other not in excluded]
        return [other for other in candidates if self.parent.get(other) == self.parent[entity]] if hard else candidates

    def _climb(self, entity: str) -> Iterator[str]:
        while entity in self.parent:
            entity = self.parent[entity]
            yield entity


def things() -> Hierarchy:
    """The hierarchy of `THINGS` under one root."""
    parent = {}
    for kind, groups in THINGS.items():
        parent[kind] = ROOT
        for group, members in groups.items():
            parent[group] = kind
            parent |= dict.fromkeys(members, group)
    return Hierarchy(parent)


def draw_triplets(
    hierarchy: Hierarchy, subsumptions: list[tuple[str, str]], negatives: int, generator: Generator, hard: bool = False
) -> list[Triplet]:
    """As many triplets of each subsumption as it is to have negatives, drawn with replacement."""
    triplets = []
    for entity, parent in subsumptions:
        candidates = hierarchy.negatives(entity, hard)
        for index in torch.randint(len(candidates), (negatives,), generator=generator).tolist():
            triplets.append(Triplet(entity, parent, candidates[index]))
    return triplets
