"""Massive activations in small vision transformers: where they are, and what becomes of the accuracy without them."""

import json
import tempfile
from pathlib import Path

import numpy as np

from lib.data import SIDE, Dataset, make_dataset
from lib.training import fit_classifier
from lib.transforms import Transform
from lib.vit import load_vit
from main_vit import run_exp1, run_exp2, run_exp3, run_exp4

MODELS = {"clip": "vit_s.4", "dinov2_reg": "vit_s.4"}
# The layer at whose output the planted activations first appear.
FIRST_LAYER = 2


def run(seed: int = 0) -> dict[str, float]:
    """Magnitudes, locations and accuracies of a model of each family in which massive activations are planted."""
    metrics = {}
    with tempfile.TemporaryDirectory() as folder:
        known, unseen = (make_dataset(count, Transform(SIDE), 2 * seed + part) for part, count in enumerate((64, 40)))
        for family, size in MODELS.items():
            for name, value in run_family(family, size, seed, known, unseen, Path(folder)).items():
                metrics[f"{family}: {name}"] = value
    return metrics


def run_family(family: str, size: str, seed: int, known: Dataset, unseen: Dataset, folder: Path) -> dict[str, float]:
    """Fit a model's classifier and run the experiments that its family takes part in."""
    model, layers, transform = load_vit(family, size, seed)
    fit_classifier(model, known)
    saved = run_exp1(len(layers) - 1, layers, model, transform, folder, family, size)
    metrics = describe(saved)
    series = run_exp2(layers, model, unseen.images, folder, family, size)
    for name, values in series.items():
        metrics |= {f"{name}, layer {number}": value for number, value in enumerate(values, start=1)}
    for name, value in run_exp3(FIRST_LAYER, layers, model, known, unseen, family).items():
        metrics[f"activations, {name}"] = value
    if model.config.family.registers:
        for name, value in run_exp4(layers, model, known, unseen, family).items():
            metrics[f"registers, {name}"] = value
    return metrics


def describe(saved: Path) -> dict[str, float]:
    """The hidden state that experiment 1 saved: its largest magnitude, and where it lies, if massive."""
    with np.load(saved) as arrays:
        features = arrays["features"]
    found = {
        "example, largest": float(features.max()),
        "example, times the median": float(features.max() / np.median(features)),
        "example, above 100": int((features > 100).sum()),
    }
    if found["example, above 100"]:
        token, feature = np.unravel_index(features.argmax(), features.shape)
        found |= {"example, token": int(token), "example, feature": int(feature)}
    return found


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
