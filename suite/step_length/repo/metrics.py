"""Accuracy, and the log of an experiment."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from data import Demo
from text import split_steps


def accuracy(predictions: Sequence[str | None], answers: Sequence[str]) -> float:
    """Which part of the predictions is right, in per cent."""
    right = sum(one == other for one, other in zip(predictions, answers, strict=True))
    return 100 * right / len(answers)


def mean_steps(demos: Sequence[Demo]) -> float:
    """How many steps the rationales of some demonstrations have on average."""
    return sum(len(split_steps(demo.rationale)) for demo in demos) / len(demos)


def moments(values: ArrayLike) -> dict[str, float]:
    """The mean, and a mean whose weights grow with the place from -1 to 1."""
    values = np.asarray(values, dtype=np.float64)
    places = np.linspace(-1, 1, len(values))
    return {"mean": float(values.mean()), "by place": float((places * values).mean())}


class Log:
    """Figures of each stage, in the order of the stages; the rates stand last."""

    def __init__(self) -> None:
        self._stages: dict[str, dict[str, float]] = {}

    @property
    def figures(self) -> dict[str, dict[str, float]]:
        return {stage: self._stages[stage] for stage in sorted(self._stages, key=lambda stage: stage == "rates")}

    def add(self, stage: str, name: str, value: float) -> None:
        figures = self._stages.setdefault(stage, {})
        if name in figures:
            raise ValueError(f"logged twice: {stage}, {name}")
        figures[name] = float(value)

    def text(self, stage: str, name: str, texts: Sequence[str]) -> None:
        """What some texts are like: their mean length in words, their numbers, and moments of their characters."""
        whole = "\n".join(texts)
        self.add(stage, f"{name}, words", sum(len(text.split()) for text in texts) / len(texts))
        if numbers := [float(number) for number in re.findall(r"\d+", whole)]:
            self.add(stage, f"{name}, mean logarithm of numbers", np.log1p(numbers).mean())
        for key, value in moments(np.frombuffer(whole.encode(), np.uint8) / 64 - 1.25).items():
            self.add(stage, f"{name}, characters/{key}", value)
