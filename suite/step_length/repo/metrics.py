"""Accuracy, and the log of an experiment."""

from collections.abc import Sequence

from data import Demo
from text import split_steps


def accuracy(predictions: Sequence[str | None], answers: Sequence[str]) -> float:
    """Which part of the predictions is right, in per cent."""
    right = sum(one == other for one, other in zip(predictions, answers, strict=True))
    return 100 * right / len(answers)


def mean_steps(demos: Sequence[Demo]) -> float:
    """How many steps the rationales of some demonstrations have on average."""
    return sum(len(split_steps(demo.rationale)) for demo in demos) / len(demos)


def mean_words(prompts: Sequence[str]) -> float:
    """How long some prompts are on average, in words."""
    return sum(len(prompt.split()) for prompt in prompts) / len(prompts)


class Log:
    """Figures under the names of dataset, condition and setting."""

    def __init__(self) -> None:
        self.figures: dict[str, float] = {}

    def add(self, dataset: str, condition: str, value: float, setting: object = None) -> None:
        name = f"{dataset}: {condition}" if setting is None else f"{dataset}: {condition}, {setting}"
        if name in self.figures:
            raise ValueError(f"logged twice: {name}")
        self.figures[name] = round(value, 6)
