"""Working a question through in steps, as demonstrations do and as a reader does."""

import re
from collections.abc import Sequence

from config import STATES
from data import MOVES, Demo, Problem

_START = re.compile(r"has (\d+) ")
_MOVE = re.compile(r"(\w+ (" + "|".join(MOVES) + r") (\d+) \w+)\.")
_TURN = re.compile(r"(\w+ (flips|does not flip) the coin)\.")
_NEXT_LETTER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "bcdefghijklmnopqrstuvwxyza")


def operations(task: str, question: str) -> int:
    """How many operations a question asks for."""
    if task == "letter":
        return len(_quoted(question))
    return len((_MOVE if task == "arithmetic" else _TURN).findall(question))


def work(task: str, question: str, slips: Sequence[bool], carry: bool = True) -> tuple[list[str], str]:
    """A step for each operation of a question, and the answer that they lead to.

    slips: which operations go wrong. carry: whether what follows builds on a wrong result, or on the right one.
    """
    return {"arithmetic": _count, "letter": _spell, "coin": _toss}[task](question, slips, carry)


def manual_demo(problem: Problem) -> Demo:
    """A demonstration as a person writes it: right, and with a step for each operation."""
    steps, _ = work(problem.task, problem.question, [False] * operations(problem.task, problem.question))
    return Demo(problem.task, problem.question, " ".join(steps), problem.answer)


def wrong_demo(problem: Problem) -> Demo:
    """A demonstration with one wrong result in its last step, and the right answer all the same (Section 4.3)."""
    slips = [False] * operations(problem.task, problem.question)
    slips[-1] = True
    steps, _ = work(problem.task, problem.question, slips, carry=False)
    return Demo(problem.task, problem.question, " ".join(steps), problem.answer)


def _count(question: str, slips: Sequence[bool], carry: bool) -> tuple[list[str], str]:
    start = _START.search(question)
    count = int(start[1]) if start else 0
    steps = []
    for (move, verb, amount), slip in zip(_MOVE.findall(question), slips, strict=True):
        sign, right = ("+", count + int(amount)) if MOVES[verb] > 0 else ("-", count - int(amount))
        result = right + 10 * slip
        steps.append(f"{move}, so there are {count} {sign} {amount} = {result}.")
        count = result if carry else right
    return steps, str(count)


def _spell(question: str, slips: Sequence[bool], carry: bool) -> tuple[list[str], str]:
    steps, letters = [], ""
    for name, slip in zip(_quoted(question), slips, strict=True):
        letter = name[-1].translate(_NEXT_LETTER) if slip else name[-1]
        steps.append(f'The last letter of "{name}" is "{letter}".')
        letters += letter if carry else name[-1]
    return steps, letters


def _toss(question: str, slips: Sequence[bool], carry: bool) -> tuple[list[str], str]:
    side, steps = 0, []
    for (turn, verb), slip in zip(_TURN.findall(question), slips, strict=True):
        right = 1 - side if verb == "flips" else side
        result = 1 - right if slip else right
        steps.append(f"{turn}, so the coin is {STATES[result]} up.")
        side = result if carry else right
    return steps, "no" if side else "yes"


def _quoted(question: str) -> list[str]:
    found = re.search(r'"([^"]*)"', question)
    return found[1].split() if found else []
