"""Recovering a census-like table: symbols against perturbed tokens, and random entities beside both."""

import json

import numpy as np

from emojiprompt.attack import attack, random_entities
from emojiprompt.embedding import embed
from emojiprompt.features import sample_rows
from emojiprompt.obfuscation import perturb_tokens, to_symbols
from emojiprompt.recovery import Recoverer
from emojiprompt.similarity import compute_mean_cosine_similarity

_ROWS = 60


def run(seed: int = 0) -> dict[str, float]:
    """The mean cosine similarity of both attacks and of random entities; lower is more private."""
    generator = np.random.default_rng(seed)
    table = sample_rows(_ROWS, generator)
    pairs = {
        "symbols": attack(table, to_symbols, Recoverer(generator)),
        "tokens": attack(table, lambda value: perturb_tokens(value, generator), Recoverer(generator)),
        "random entities": random_entities(table, generator),
    }
    return {name: compute_mean_cosine_similarity(items, embed) for name, items in pairs.items()}


if __name__ == "__main__":
    print(json.dumps(run()))
