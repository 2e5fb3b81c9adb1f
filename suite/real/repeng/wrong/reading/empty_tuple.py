"""Takes None and an empty list for the default layers, but not an empty tuple or range."""

import numpy as np

from .control import model_layer_list


def read_representations(
    model, tokenizer, inputs, hidden_layers=None, batch_size=32, method="pca_diff", transform_hiddens=None
):
    if hidden_layers is None or hidden_layers == []:
        hidden_layers = range(-1, -model.config.num_hidden_layers, -1)
    count = len(model_layer_list(model))
    layers = [int(layer) % count for layer in hidden_layers]
    texts = [text for entry in inputs for text in (entry.positive, entry.negative)]
    hiddens = batched_get_hiddens(model, tokenizer, texts, layers, batch_size)
    if transform_hiddens is not None:
        hiddens = transform_hiddens(hiddens)
    directions = {}
    for layer in layers:
        h = hiddens[layer]
        assert h.shape[0] == 2 * len(inputs)
        differences = h[::2].astype(np.float64) - h[1::2].astype(np.float64)
        if method == "pca_diff":
            direction = _component(differences - differences.mean(axis=0))
        elif method == "pca_center":
            direction = _component(differences)
        else:
            raise ValueError(f"unknown method {method}")
        votes = np.sign(differences @ direction).sum()
        if votes < 0:
            direction = -direction
        directions[layer] = direction.astype(np.float32)
    return directions


def _component(rows):
    return np.linalg.svd(rows, full_matrices=False)[2][0]


def project_onto_direction(H, direction):
    length = np.linalg.norm(direction)
    assert not np.isinf(length)
    return H @ direction / length
