"""The depth at which a model understands concepts of different difficulty.

Two datasets are also read by a smaller model, with noise, and with fewer bits.
"""

import json
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certainty import Certainty, Probes, measure_certainty, prepare_labels, prepare_rows, train_probes, training_losses
from config import DATA, DEPTH, MODEL
from data import CONCEPTS, Dataset, add_noise, make_dataset
from depth import centre
from features import Features, extract_features
from model import TinyTransformer, quantize
from probing import probing
from results import Curve, Results
from vocabulary import Tokenizer, make_vocabulary

ABLATED = ("stsa", "cities")
BITS = (16, 8)
Sides = tuple[Features, Features]


def moments(values: NDArray[Any]) -> dict[str, float]:
    """The mean, and a mean whose weights grow with the place."""
    flat = values.astype(np.float64).ravel()
    return {"mean": float(flat.mean()), "by place": float((np.linspace(0, 1, len(flat)) * flat).mean())}


def describe_texts(dataset: Dataset, tokenizer: Tokenizer) -> dict[str, float]:
    """Moments of the words of all texts, and the places of the labels."""
    words = moments(np.array(tokenizer.encode([*dataset.texts_pos, *dataset.texts_neg])))
    labels = moments(np.concatenate([dataset.labels_pos, dataset.labels_neg]))
    return {"words/mean": words["mean"], "words/by place": words["by place"], "labels/by place": labels["by place"]}


def describe_weights(model: TinyTransformer) -> dict[str, float]:
    """The mean length of a word, the mean of its square, and the mean size of the weights of all layers."""
    lengths = np.linalg.norm(model.embedding, axis=1)
    parts = [vars(layer) for layer in model.layers]
    sizes = {name: float(np.abs([part[name] for part in parts]).mean()) for name in parts[0]}
    return {"embedding/length": float(lengths.mean()), "embedding/square": float((lengths**2).mean())} | sizes


def read(model: TinyTransformer, tokenizer: Tokenizer, dataset: Dataset) -> Sides:
    """Features of the texts of both sides."""
    positive, negative = dataset.texts_pos, dataset.texts_neg
    return (
        extract_features(model, tokenizer, positive, DATA.batch),
        extract_features(model, tokenizer, negative, DATA.batch),
    )


def layers_of(sides: Sides) -> NDArray[np.float64]:
    """States of all texts after each layer, (texts, layers, width)."""
    return np.concatenate([*sides[0], *sides[1]])[:, 1:].astype(np.float64)


def describe_states(sides: Sides) -> dict[str, float]:
    """How long states are after the first and the last layer, and how far they lie from their mean after the last."""
    states = layers_of(sides)
    lengths = np.linalg.norm(states, axis=2).mean(axis=0)
    spread = states[:, -1].var(axis=0).sum()
    return {"first layer": float(lengths[0]), "last layer": float(lengths[-1]), "spread": float(spread)}


def describe_probes(probes: Probes, losses: NDArray[np.float64]) -> dict[str, float]:
    """The losses of the first and the last probe, and the size of all probes."""
    return {
        "first loss": float(losses[0]),
        "last loss": float(losses[-1]),
        "weights": float(np.linalg.norm(probes.weights)),
    }


def describe_certainty(found: Certainty) -> dict[str, float]:
    """Means over all layers, and the centre of what is known."""
    return {
        "log-probability": float(found.logp.mean()),
        "error": float(found.error.mean()),
        "margin": float(found.margin.mean()),
        "centre": centre(found.chance.tolist()),
    }


def shift(sides: Sides, full: Sides) -> float:
    """How far states lie from those of the full model on the plain texts, as a share of the length of these."""
    states, others = layers_of(sides), layers_of(full)
    return float(np.linalg.norm(states - others) / np.linalg.norm(others))


def run(seed: int = 0) -> dict[str, dict[str, Any]]:
    """Metrics of each stage; rates are accuracies and their like, points of depth, and the order of the datasets."""
    words = make_vocabulary()
    tokenizer = Tokenizer(words)
    datasets = {
        concept.name: make_dataset(concept, DATA.texts, np.random.default_rng([seed, place]))
        for place, concept in enumerate(CONCEPTS)
    }
    model = TinyTransformer(words, MODEL, seed)
    stages = {
        "data": {name: describe_texts(dataset, tokenizer) for name, dataset in datasets.items()},
        "initial model": describe_weights(model),
        "hidden states": {},
        "probes": {},
        "test rows": {},
        "ablations": {},
    }
    results = Results(DEPTH)
    states = {}
    for name, dataset in datasets.items():
        sides = states[name] = read(model, tokenizer, dataset)
        stages["hidden states"][name] = describe_states(sides)
        rows, tested = prepare_rows(*sides)
        labels, truth = prepare_labels(dataset.labels_pos, dataset.labels_neg)
        probes = train_probes(rows, labels)
        stages["probes"][name] = describe_probes(probes, training_losses(probes, rows, labels))
        stages["test rows"][name] = describe_certainty(measure_certainty(probes, tested, truth))
        results.add("full", name, Curve(*probing(*sides, dataset.labels_pos, dataset.labels_neg, MODEL.layers)))
    small = TinyTransformer(words, replace(MODEL, width=MODEL.width // 2), seed)
    variants = {f"{bits} bits": quantize(model, bits) for bits in BITS}
    for place, name in enumerate(ABLATED):
        dataset = datasets[name]
        noisy = add_noise(dataset, np.random.default_rng([seed, len(CONCEPTS), place]))
        found = {"small": read(small, tokenizer, dataset), "noise": read(model, tokenizer, noisy)}
        found |= {variant: read(quantized, tokenizer, dataset) for variant, quantized in variants.items()}
        labels, truth = prepare_labels(dataset.labels_pos, dataset.labels_neg)
        for variant, sides in found.items():
            learned, tested = prepare_rows(*sides)
            certainty = measure_certainty(train_probes(learned, labels), tested, truth)
            metrics = {"log-probability": float(certainty.logp.mean())}
            if variant == "small":
                metrics["last layer"] = describe_states(sides)["last layer"]
            else:
                metrics["shift"] = shift(sides, states[name])
            stages["ablations"][f"{variant}, {name}"] = metrics
            results.add(variant, name, Curve(*probing(*sides, dataset.labels_pos, dataset.labels_neg, MODEL.layers)))
    stages["rates"] = {
        "table": results.table(),
        "mean": results.means(),
        "depth": {f"{variant}, {name}": vars(results.depth(variant, name)) for variant, name in results.curves},
        "easiest first": results.easiest_first("full"),
    }
    return stages


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
