"""What a model reads (Appendix F): an instruction, labelled examples, and an input without a label.

All inputs that are asked about with the same examples share everything but the last lines. So a prompt comes in two
parts, the context and the question. What a model knows of a point is its text.
"""

import re
from collections.abc import Iterable, Sequence

from numpy.typing import ArrayLike, NDArray

from config import CLASS_NAMES

_INSTRUCTION = (
    "Given pairs of numbers and their labels, predict the label for a new input pair of numbers based on the provided "
    "data. Answer with only one of the labels"
)
_NAMES = re.compile(r"'(\w+)'")
_EXAMPLE = re.compile(r"Input: ([\d -]+)\nLabel: (\w+)")
_QUESTION = "What is the label for this input?"


def format_point(point: ArrayLike) -> str:
    """A point as a model reads it: whole numbers, rounded, with a blank between them."""
    return " ".join(str(round(float(value))) for value in point)


def build_context(points: Iterable[NDArray], labels: Iterable[int], names: Sequence[str] = CLASS_NAMES) -> str:
    """The instruction, and the examples in the given order. names: of the classes 0, 1, ..."""
    lines = [f"{_INSTRUCTION} {' and '.join(repr(name) for name in names)}:"]
    lines += [
        f"Input: {format_point(point)}\nLabel: {names[label]}" for point, label in zip(points, labels, strict=True)
    ]
    return "\n".join(lines) + "\n"


def build_question(point: NDArray) -> str:
    return f"{_QUESTION}\nInput: {format_point(point)}\nLabel:"


def read_context(context: str) -> tuple[list[list[int]], list[int], list[str]]:
    """The points of a context, the places of their labels among the names, and the names."""
    first, _, rest = context.partition("\n")
    names = _NAMES.findall(first)
    found = _EXAMPLE.findall(rest)
    return [_numbers(text) for text, _ in found], [names.index(label) for _, label in found], names


def read_questions(questions: Iterable[str]) -> list[list[int]]:
    return [_numbers(question.split("\n")[1].removeprefix("Input: ")) for question in questions]


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split()]
