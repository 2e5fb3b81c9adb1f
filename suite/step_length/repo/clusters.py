"""Auto-CoT's choice of questions: one of each cluster, so that the demonstrations are diverse (Section 3.1)."""

import re

import numpy as np
from numpy.typing import NDArray

from data import Problem
from text import question_key

_ROUNDS = 10


def embed(questions: list[str]) -> NDArray[np.float64]:
    """Questions as word counts of length 1, in the order of a sorted vocabulary."""
    bags = [re.findall(r"[a-z]+", question_key(question)) for question in questions]
    vocabulary = {word: place for place, word in enumerate(sorted({word for bag in bags for word in bag}))}
    vectors = np.zeros((len(bags), len(vocabulary)))
    for vector, bag in zip(vectors, bags, strict=True):
        for word in bag:
            vector[vocabulary[word]] += 1
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def choose(problems: list[Problem], count: int, generator: np.random.Generator) -> list[Problem]:
    """The problem that is nearest to the centre of each of `count` clusters; a cluster may have run empty."""
    vectors = embed([problem.question for problem in problems])
    centres = vectors[generator.choice(len(vectors), size=count, replace=False)]
    for _ in range(_ROUNDS):
        distances = np.square(vectors[:, np.newaxis] - centres).sum(axis=2)
        cluster = distances.argmin(axis=1)
        for place in set(cluster.tolist()):
            centres[place] = vectors[cluster == place].mean(axis=0)
    distances = np.square(vectors[:, np.newaxis] - centres).sum(axis=2)
    return [problems[place] for place in sorted(set(distances.argmin(axis=0).tolist()))]
