"""The gap scores of two simulated models, of which one favours its own group and the other does not.

In the category nationality, nations of one region also see others alike, although each is a group of its own.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from analysis.metrics import get_delta, get_filtered_matrix
from analysis.permutation import permutation_bounds
from analysis.prompts import Event
from analysis.regions import view_similarity
from analysis.results import append_answers, read_answers, refused_ids, use_folder
from analysis.simulated import SimulatedModel, ask

_EVENTS = (
    Event(11, "sadness", "the application was turned down"),
    Event(23, "joy", "the exam was passed"),
    Event(35, "fear", "the brakes gave way"),
    Event(47, "anger", "the parcel was stolen"),
    Event(59, "pride", "the garden won a prize"),
    Event(61, "relief", "the results were good"),
)
_SETTING = "P0S0T0"
_PERMUTATIONS = 40


def measure(model: SimulatedModel, model_id: str, events: dict[Event, float], group_option: str) -> NDArray[np.float64]:
    """Ask about every pair of a category, and return the matrix over the events that no pair refused."""
    append_answers(model_id, _SETTING, group_option, ask(model, events, group_option))
    refused = refused_ids(read_answers(model_id, _SETTING, group_option))
    return get_filtered_matrix(group_option, _SETTING, model_id, refused)


def run(seed: int = 0) -> dict[str, float]:
    """Return each model's scores in two categories with the bounds of their tests, and how alike nations see others."""
    generator = np.random.default_rng(seed)
    events = {event: float(generator.uniform(40, 60)) for event in _EVENTS}
    metrics = {}
    with tempfile.TemporaryDirectory() as folder:
        use_folder(Path(folder))
        for model_id, bias in (("biased", 12.0), ("fair", 0.0)):
            model = SimulatedModel(bias, seed, refusals=1 / 2000)
            for group_option in ("ethnicity", "religion"):
                matrix = measure(model, model_id, events, group_option)
                lower, upper = permutation_bounds(matrix, group_option, _PERMUTATIONS, seed)
                name = f"{model_id}, {group_option}"
                metrics[f"{name}: delta"] = get_delta(matrix, group_option)
                metrics[f"{name}: lower"] = lower
                metrics[f"{name}: upper"] = upper
        nations = measure(SimulatedModel(12.0, seed), "biased", events, "nationality")
    metrics["nationality: delta"] = get_delta(nations, "nationality")
    metrics["nationality: within regions"], metrics["nationality: between regions"] = view_similarity(nations)
    return metrics


if __name__ == "__main__":
    print(json.dumps(run()))
