"""Small vision transformers in which massive activations are planted, and what their classifiers do without these.

Without massive activations accuracy falls; with their means it stays the same.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from lib.data import SIDE, Dataset, example_picture, make_dataset
from lib.planting import plant_massive_activations
from lib.training import accuracy, fit_classifier, loss, predict
from lib.transforms import Transform
from lib.vit import VisionTransformer, load_vit
from main_vit import run_exp1, run_exp2, run_exp3, run_exp4

MODELS = {"clip": "vit_s.4", "dinov2_reg": "vit_s.4"}
# How many pictures the classifier is fitted to, and how many it is tested on.
KNOWN = 24
UNSEEN = 12
# The layer at whose output the planted activations first appear.
FIRST_LAYER = 2
# Parts of a model, by what the names of their weights contain.
PARTS = {
    "patch embedding": "patch_embed",
    "class token": "cls_token",
    "registers": "registers",
    "positions": "positions",
    "attention": ".attention.",
    "MLP": ".mlp.",
}
PLANTED = ("patch embedding", "attention", "MLP")


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """The metrics of each stage, for a model of each family in which massive activations are planted."""
    transform = Transform(SIDE)
    known, unseen = (make_dataset(count, transform, 2 * seed + part) for part, count in enumerate((KNOWN, UNSEEN)))
    pictures = {"known": known.images, "unseen": unseen.images, "example": transform(example_picture())}
    data = {f"{name}, {key}": value for name, images in pictures.items() for key, value in described(images).items()}
    stages = {"data": data | {"labels by place": by_place(known.labels)}}
    with tempfile.TemporaryDirectory() as folder:
        for family, size in MODELS.items():
            for stage, metrics in run_family(family, size, seed, known, unseen, Path(folder)).items():
                stages.setdefault(stage, {}).update({f"{family}: {name}": value for name, value in metrics.items()})
    return stages | {"rates": stages.pop("rates")}


def run_family(
    family: str, size: str, seed: int, known: Dataset, unseen: Dataset, folder: Path
) -> dict[str, dict[str, float]]:
    """The stages of one model: its weights, its hidden states, its classifier, and what interventions do to it."""
    model, layers, transform = load_vit(family, size, seed)
    stages = {"initial model": {f"{name}, size": values["size"] for name, values in parts(model).items()}}
    plant_massive_activations(model)
    changed = parts(model)
    stages["planting"] = {f"{name}, {key}": value for name in PLANTED for key, value in changed[name].items()}
    saved = run_exp1(len(layers) - 1, layers, model, transform, folder, family, size)
    series = run_exp2(layers, model, unseen.images, folder, family, size)
    states, rates = example(saved)
    for name in ("top 1", "top 3", "median"):
        for number in (1, FIRST_LAYER, len(layers)):
            states[f"{name}, layer {number}"] = series[name][number - 1]
    stages["hidden states"] = states
    fit_classifier(model, known)
    stages["classifier"] = {"weights": float(model.head.weight.detach().norm())}
    original = predict(model, unseen.images)
    for name, dataset, predictions in (("known", known, predict(model, known.images)), ("unseen", unseen, original)):
        stages["classifier"][f"{name}, loss"] = loss(predictions, dataset.labels)
        rates[f"{name}, accuracy"] = accuracy(predictions, dataset.labels)
    stages["interventions"] = run_exp3(FIRST_LAYER, layers, model, known, unseen, original, family)
    if model.config.family.registers:
        stages["registers"] = run_exp4(layers, model, known, unseen, original, family)
    for metrics in stages.values():
        rates |= {name: metrics.pop(name) for name in list(metrics) if name.endswith("accuracy")}
    return stages | {"rates": rates}


def by_place(values: Tensor) -> float:
    """A mean whose weights grow with the place."""
    return float((torch.linspace(0, 1, values.numel()) * values.flatten()).mean())


def described(images: Tensor) -> dict[str, float]:
    """Two means of images, and mean squares of the differences of neighbours in both directions."""
    return {
        "mean": float(images.mean()),
        "by place": by_place(images),
        "across": float(images.diff(dim=-1).square().mean()),
        "down": float(images.diff(dim=-2).square().mean()),
    }


def parts(model: VisionTransformer) -> dict[str, dict[str, float]]:
    """The mean weight and the mean magnitude of a weight, of each part that has weights."""
    found = {}
    for name, text in PARTS.items():
        weights = torch.cat([part.detach().flatten() for key, part in model.named_parameters() if text in f".{key}"])
        if len(weights):
            found[name] = {"mean": float(weights.mean()), "size": float(weights.abs().mean())}
    return found


def example(saved: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Metrics of the hidden state that experiment 1 saved, and counts: where its largest magnitude lies, if massive."""
    with np.load(saved) as arrays:
        features = arrays["features"]
    metrics = {"example, mean": float(features.mean()), "example, by place": by_place(torch.tensor(features))}
    counts = {
        "example, times the median": float(features.max() / np.median(features)),
        "example, above 100": int((features > 100).sum()),
    }
    if counts["example, above 100"]:
        token, feature = np.unravel_index(features.argmax(), features.shape)
        counts |= {"example, token": int(token), "example, feature": int(feature)}
    return metrics, counts


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
