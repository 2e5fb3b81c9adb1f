"""Tolerances and similarities: the allowed differences between a submission's observations and the reference's.

An observation is the value that a check returns for one case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import Field

from lmrbench.records import Record


class Tolerance(Record):
    """A tolerance for floats: a (observed) and b (reference) agree if |a - b| <= atol + rtol * |b|.

    Attributes:
        rtol: The relative tolerance.
        atol: The absolute tolerance.
    """

    rtol: float = Field(default=1e-5, ge=0, lt=1)
    atol: float = Field(default=1e-6, ge=0)

    def scaled(self, factor: float) -> Tolerance:
        """Return this tolerance multiplied by `factor`. Its rtol may exceed 1, which a task may not set."""
        return Tolerance.model_construct(rtol=factor * self.rtol, atol=factor * self.atol)


class Similarity(Record):
    """The similarity that two texts must have. Texts without a required similarity must be equal.

    Attributes:
        threshold: The smallest similarity at which two texts agree, at most 1.
        model: The folder or the name of an installed sentence-transformers model. With a model, the similarity is the
            cosine of the texts' embeddings. Without one, it is twice the length of the longest common subsequence,
            divided by the total length of both texts.
    """

    threshold: float = Field(gt=0, le=1)
    model: str = ""

    def scaled(self, factor: float) -> Similarity:
        """Return a similarity whose threshold is `factor` times as far below 1. The threshold may be negative."""
        threshold = self.threshold + (1 - factor) * (1 - self.threshold)
        return Similarity.model_construct(threshold=threshold, model=self.model)


@dataclass(frozen=True)
class Bounds:
    """The allowed differences between a submission's observation and the reference's.

    Attributes:
        tolerance: The tolerance of floats.
        tolerances: Tolerances for individual top-level keys of an observation, used in place of `tolerance`.
        similarities: The similarities that the texts in individual top-level keys of an observation must have.
    """

    tolerance: Tolerance
    tolerances: Mapping[str, Tolerance] = field(default_factory=dict)
    similarities: Mapping[str, Similarity] = field(default_factory=dict)

    def with_tolerances_scaled(self, factor: float) -> Bounds:
        """Return bounds with `factor` times the tolerances, and the same similarities."""
        tolerances = {key: item.scaled(factor) for key, item in self.tolerances.items()}
        return replace(self, tolerance=self.tolerance.scaled(factor), tolerances=tolerances)
