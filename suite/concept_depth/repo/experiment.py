"""At which depth does a model understand concepts of different difficulty? What do noise and fewer bits change?"""

import json
from dataclasses import replace
from typing import Any

import numpy as np

from config import DATA, DEPTH, MODEL
from data import CONCEPTS, Dataset, add_noise, make_dataset
from features import extract_features
from model import TinyTransformer, quantize
from probing import probing
from results import Curve, Results
from vocabulary import Tokenizer, make_vocabulary

ABLATED = ("stsa", "cities")


def probe_dataset(model: TinyTransformer, tokenizer: Tokenizer, dataset: Dataset) -> Curve:
    """Read all texts, and probe all layers."""
    sides = [extract_features(model, tokenizer, texts, DATA.batch) for texts in (dataset.texts_pos, dataset.texts_neg)]
    return Curve(*probing(*sides, dataset.labels_pos, dataset.labels_neg, model.config.layers))


def run(seed: int = 0) -> dict[str, Any]:
    """Metrics of six layers, their means over all layers, points of depth, and the order of the datasets."""
    generator = np.random.default_rng(seed)
    words = make_vocabulary()
    tokenizer = Tokenizer(words)
    model = TinyTransformer(words, MODEL, seed)
    small = TinyTransformer(words, replace(MODEL, width=MODEL.width // 2), seed)
    datasets = {concept.name: make_dataset(concept, DATA.texts, generator) for concept in CONCEPTS}
    results = Results(DEPTH)
    for name, dataset in datasets.items():
        results.add("full", name, probe_dataset(model, tokenizer, dataset))
    for name in ABLATED:
        results.add("small", name, probe_dataset(small, tokenizer, datasets[name]))
        noisy = add_noise(datasets[name], generator)
        results.add("noise", name, probe_dataset(model, tokenizer, noisy))
        for bits in (16, 8):
            results.add(f"{bits} bits", name, probe_dataset(quantize(model, bits), tokenizer, datasets[name]))
    return {
        "table": results.table(),
        "mean": results.means(),
        "depth": {f"{variant}, {name}": vars(results.depth(variant, name)) for variant, name in results.curves},
        "easiest first": results.easiest_first("full"),
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
