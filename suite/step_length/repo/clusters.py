"""Auto-CoT's choice of questions: one of each cluster, so that the demonstrations are diverse (Section 3.1)."""

import re

import numpy as np
from numpy.typing import NDArray

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


def distances(vectors: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances, one row a vector. They are rounded, so that of equally near ones the first is taken."""
    return np.square(vectors[:, np.newaxis] - centres).sum(axis=2).round(9)


def cluster(vectors: NDArray[np.float64], count: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """The centres of `count` clusters; a cluster may have run empty."""
    centres = vectors[generator.choice(len(vectors), size=count, replace=False)]
    for _ in range(_ROUNDS):
        members = distances(vectors, centres).argmin(axis=1)
        for place in set(members.tolist()):
            centres[place] = vectors[members == place].mean(axis=0)
    return centres


def nearest(vectors: NDArray[np.float64], centres: NDArray[np.float64]) -> list[int]:
    """The place of the vector that is nearest to each centre."""
    return sorted(set(distances(vectors, centres).argmin(axis=0).tolist()))
