"""Toy datasets: arithmetic of few and of many operations, last letters, and coin flips."""

from dataclasses import dataclass

import numpy as np

_NAME_LIST = """
Alina Bianca Cecil Dmitri Elena Fanny Giselle Hugo Ivan Janette Kim Liam Megan Noel Oscar Priya Quentin Ronny
Stacey Tim Ursula Victor Wendy Xavier
"""
NAMES = tuple(_NAME_LIST.split())
THINGS = ("apples", "books", "marbles", "stamps", "coins", "cards")
# What happens to somebody's things, and whether it makes them more.
MOVES = {"buys": 1, "finds": 1, "receives": 1, "loses": -1, "sells": -1, "eats": -1}
SIZES = {"arithmetic": 2, "long arithmetic": 5, "letter": 4, "coin": 4}
TASKS = {"arithmetic": "arithmetic", "long arithmetic": "arithmetic", "letter": "letter", "coin": "coin"}


@dataclass(frozen=True)
class Problem:
    """A question and its answer. task: arithmetic, letter or coin."""

    task: str
    question: str
    answer: str


@dataclass(frozen=True)
class Demo:
    """A demonstration. rationale: sentences, one for each step, that lead to the answer and do not include it."""

    task: str
    question: str
    rationale: str
    answer: str


def make_problem(dataset: str, generator: np.random.Generator) -> Problem:
    """One problem of a dataset, with as many operations as `SIZES` says."""
    maker = {"arithmetic": _arithmetic, "letter": _letter, "coin": _coin}[TASKS[dataset]]
    return maker(SIZES[dataset], generator)


def make_dataset(dataset: str, size: int, generator: np.random.Generator) -> list[Problem]:
    """Problems with questions that all differ."""
    problems: dict[str, Problem] = {}
    while len(problems) < size:
        problem = make_problem(dataset, generator)
        problems.setdefault(problem.question, problem)
    return list(problems.values())


def _arithmetic(size: int, generator: np.random.Generator) -> Problem:
    name, thing = str(generator.choice(NAMES)), str(generator.choice(THINGS))
    count = int(generator.integers(20, 60))
    sentences = [f"{name} has {count} {thing}."]
    for verb in generator.choice(list(MOVES), size=size):
        amount = int(generator.integers(2, max(3, min(20, count))))
        count += MOVES[str(verb)] * amount
        sentences.append(f"{name} {verb} {amount} {thing}.")
    question = " ".join([*sentences, f"How many {thing} does {name} have now?"])
    return Problem("arithmetic", question, str(count))


def _letter(size: int, generator: np.random.Generator) -> Problem:
    names = [str(name) for name in generator.choice(NAMES, size=size, replace=False)]
    question = f'Take the last letters of each word in "{" ".join(names)}" and concatenate them.'
    return Problem("letter", question, "".join(name[-1] for name in names))


def _coin(size: int, generator: np.random.Generator) -> Problem:
    names = [str(name) for name in generator.choice(NAMES, size=size, replace=False)]
    flips = generator.random(size) < 0.5
    verbs = ("does not flip", "flips")
    turns = [f"{name} {verbs[int(flip)]} the coin." for name, flip in zip(names, flips, strict=True)]
    question = " ".join(["A coin is heads up.", *turns, "Is the coin still heads up?"])
    return Problem("coin", question, "no" if flips.sum() % 2 else "yes")
