"""A stand-in for a language model, which reads the prompt and nothing else.

It works the last question through, one operation after the other, and each may go wrong. How often is an assumption
that is put in here, after what the paper finds, so the experiment shows what follows from it and proves nothing about
language models: the chance of a slip falls with the sentences that the demonstrations spend before their answers. A
reader may need more or fewer of these for each operation of the question; that is its size.

Whether the numbers of a demonstration are right it does not check. The last state of a coin it does compare with the
answer, and from a demonstration that contradicts itself it learns nothing.
"""

import re
from functools import lru_cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from config import ANSWER_MARK, DIRECT_ANSWER_TRIGGER, MORE_STEPS_TRIGGER, STATES
from rationales import operations, work
from text import split_steps

_DIRECT_SLIP = 0.45
_STEP_BY_STEP, _MORE_STEPS = 2.0, 3.5
_BLOCK = re.compile(r"^Q: (.*)\n" + re.escape(ANSWER_MARK) + r"(.*)$", re.MULTILINE)
_SIDE = re.compile("(" + "|".join(STATES) + ") up")
_TRIGGER = "step by step"


class Reader:
    """need: how many sentences a demonstration has to spend on an operation for the slips to fall to 1/e."""

    def __init__(self, need: float) -> None:
        self.need = need

    def complete(self, prompt: str) -> str:
        """What the reader writes after a prompt: steps, where the prompt leads it to any, and the answer."""
        question, effort = self._read(prompt)
        task = task_of(question)
        slips = self._slips(task, question, effort)
        # The same draws for a question whatever the prompt shows, so that conditions can be compared.
        draws = np.random.default_rng(crc32(question.encode())).random(len(slips))
        steps, answer = work(task, question, (draws < slips).tolist())
        return " ".join([*(steps if effort else []), f"{DIRECT_ANSWER_TRIGGER} {answer}."])

    def chance(self, prompt: str) -> float:
        """The probability that the answer after a prompt is right. Two slips of a coin make up for each other."""
        question, effort = self._read(prompt)
        task = task_of(question)
        slips = self._slips(task, question, effort)
        return float((1 + np.prod(1 - 2 * slips)) / 2 if task == "coin" else np.prod(1 - slips))

    def _read(self, prompt: str) -> tuple[str, float]:
        """The question of a prompt, and the effort that the prompt leads to."""
        *demos, (question, start) = _BLOCK.findall(prompt)
        shown, own = self._shown(demos), _own_effort(start)
        return question, max(shown, own)

    def _slips(self, task: str, question: str, effort: float) -> NDArray[np.float64]:
        """How likely each operation of a question is to go wrong."""
        size = operations(task, question)
        demand = self.need * max(size, 1)
        slip = _DIRECT_SLIP * np.exp(-effort / demand)
        return np.full(size, slip)

    def _shown(self, demos: list[tuple[str, str]]) -> float:
        """The sentences that the demonstrations spend before their answers, on average."""
        lengths = [_steps(question, text) for question, text in demos]
        return sum(lengths) / len(lengths) if lengths else 0.0


def task_of(question: str) -> str:
    """Which kind of question it is."""
    if question.startswith("Take the last letters"):
        return "letter"
    return "coin" if question.startswith("A coin") else "arithmetic"


def _own_effort(start: str) -> float:
    """What the beginning of the answer asks for, in sentences of a demonstration."""
    if MORE_STEPS_TRIGGER in start:
        return _MORE_STEPS
    return _STEP_BY_STEP if _TRIGGER in start else 0.0


@lru_cache(maxsize=256)  # A demonstration stands in the prompts of all test questions.
def _steps(question: str, text: str) -> int:
    """The sentences of a demonstration but the trigger and the answer; none where its coin lies otherwise."""
    *steps, answer = split_steps(text)
    sides = _SIDE.findall(" ".join(steps))
    if task_of(question) == "coin" and sides and (sides[-1] == STATES[0]) != ("yes" in answer):
        return 0
    return sum(_TRIGGER not in step for step in steps)
