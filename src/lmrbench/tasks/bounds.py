"""How far an observation may be from that of the reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import Field

from lmrbench.records import Record


class Tolerance(Record):
    """A tolerance: floats a (observed) and b (reference) agree if |a - b| <= atol + rtol * |b|.

    Attributes:
        rtol: The relative tolerance.
        atol: The absolute tolerance.
    """

    rtol: float = Field(default=1e-5, ge=0, lt=1)
    atol: float = Field(default=1e-6, ge=0)

    def scaled(self, factor: float) -> Tolerance:
        """Return a tolerance of `factor` times this one, which may be larger than a task may set."""
        return Tolerance.model_construct(rtol=factor * self.rtol, atol=factor * self.atol)


class Similarity(Record):
    """How similar texts must be. Texts that no similarity applies to must be equal.

    Attributes:
        threshold: The smallest similarity at which two texts agree, at most 1.
        model: The folder or the name of an installed model of sentence-transformers. The similarity is then the cosine
            of the texts' embeddings. Without a model it is twice the length of the longest common subsequence, as a
            share of the characters of both texts.
    """

    threshold: float = Field(gt=0, le=1)
    model: str = ""

    def scaled(self, factor: float) -> Similarity:
        """Return a similarity that allows `factor` times the distance from 1, so that its threshold may be negative."""
        threshold = self.threshold + (1 - factor) * (1 - self.threshold)
        return Similarity.model_construct(threshold=threshold, model=self.model)


@dataclass(frozen=True)
class Bounds:
    """How far an observation may be from that of the reference.

    Attributes:
        tolerance: The tolerance of floats.
        tolerances: Tolerances of top-level keys, which replace `tolerance`.
        similarities: Similarities of the texts in top-level keys.
    """

    tolerance: Tolerance
    tolerances: Mapping[str, Tolerance] = field(default_factory=dict)
    similarities: Mapping[str, Similarity] = field(default_factory=dict)

    def with_tolerances_scaled(self, factor: float) -> Bounds:
        """Return bounds with `factor` times the tolerances, and the same similarities."""
        tolerances = {key: item.scaled(factor) for key, item in self.tolerances.items()}
        return replace(self, tolerance=self.tolerance.scaled(factor), tolerances=tolerances)
