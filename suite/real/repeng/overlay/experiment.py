"""Is a trait found in hidden states of pairs of texts, and does adding its direction change which words come next?"""

import json

import numpy as np
import torch
from repeng.control import ControlModel
from repeng.extract import (
    ControlVector,
    DatasetEntry,
    batched_get_hiddens,
    project_onto_direction,
    read_representations,
)
from toy import Model, Words

_GLAD, _SAD, _PLAIN = ([f"{name}{number}" for number in range(8)] for name in ("glad", "sad", "plain"))
# An odd number of pairs, so that votes are never equal.
_LAYERS, _WIDTH, _PAIRS = 4, 12, 15


def _pairs(generator: np.random.Generator, count: int) -> list[DatasetEntry]:
    """The same plain words, with one of a trait before them and after them."""
    pairs = []
    for _ in range(count):
        plain = " ".join(generator.choice(_PLAIN, int(generator.integers(1, 4))))
        glad, sad = generator.choice(_GLAD, 2), generator.choice(_SAD, 2)
        pairs.append(DatasetEntry(f"{glad[0]} {plain} {glad[1]}", f"{sad[0]} {plain} {sad[1]}"))
    return pairs


def run(seed: int = 0) -> dict[str, float]:
    """How often held-out texts of a pair are told apart, and what controls do to the words' probabilities."""
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    words = _GLAD + _SAD + _PLAIN
    tokenizer, model = Words(words), Model(len(words), _WIDTH, _LAYERS).double()
    with torch.no_grad():
        trait = torch.nn.functional.normalize(torch.randn(_WIDTH, dtype=torch.float64), dim=0)
        # Words of a trait have it to different degrees.
        degree = 1.5 + 1.5 * torch.rand(8, 1, dtype=torch.float64)
        model.model.words.weight[1:9] += degree * trait
        model.model.words.weight[9:17] -= degree * trait
    pairs, held_out = _pairs(generator, _PAIRS), _pairs(generator, 12)
    results = {}
    texts = [text for pair in held_out for text in (pair.positive, pair.negative)]
    for method in ("pca_diff", "pca_center"):
        directions = read_representations(model, tokenizer, pairs, method=method, batch_size=10)
        hiddens = batched_get_hiddens(model, tokenizer, texts, list(directions), 32)
        for layer, direction in directions.items():
            reach = project_onto_direction(hiddens[layer].astype(np.float64), direction.astype(np.float64))
            # A soft count of pairs whose positive text reaches further.
            results[f"{method}/layer {layer}"] = float(np.mean(1 / (1 + np.exp(-3 * (reach[::2] - reach[1::2])))))
    controlled = ControlModel(model, [2, 3])
    vector = ControlVector("toy", read_representations(model, tokenizer, pairs, [2, 3], method="pca_center"))
    for strength in (-2.0, 0.0, 2.0):
        controlled.set_control(vector, strength)
        with torch.no_grad():
            probability = controlled(**tokenizer([" ".join(_PLAIN[:3])])).logits[0, -1, 1:].softmax(dim=0)
        results[f"glad words at {strength:+}"] = probability[:8].sum().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
