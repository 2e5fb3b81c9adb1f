"""Linear probes: how well can a concept be read from the hidden states of each layer?"""

import numpy as np
from numpy.typing import NDArray

from config import PROBE
from features import Features
from functions import expit
from split import split_rows, standardize


def probing(
    features_pos: Features,
    features_neg: Features,
    labels_pos: NDArray[np.int64],
    labels_neg: NDArray[np.int64],
    n_layers: int,
) -> tuple[list[float], list[float], list[float]]:
    """Accuracy, F1-score and AUC of a probe for each layer, on rows that it was not trained on (section 3.1).

    Args:
        features_pos: hidden states of the texts of the positive side.
        features_neg: hidden states of the texts of the negative side.
        labels_pos: labels of the texts of the positive side.
        labels_neg: labels of the texts of the negative side.
        n_layers: how many layers are probed, from the first one on.

    Returns:
        Three lists with an entry for each layer.

    Raises:
        ValueError: all training rows have the same label.
    """
    labels = np.concatenate([labels_pos, labels_neg])
    train, test = split_rows(len(labels), PROBE)
    wanted, truth = labels[train], labels[test] == 1
    if wanted.min() == wanted.max():
        raise ValueError(f"all training rows have the label {wanted[0]}")
    acc, f1, auc = [], [], []
    for layer in range(1, n_layers + 1):
        rows = np.concatenate([batch[:, layer] for batch in [*features_pos, *features_neg]])
        inputs, tested = (np.column_stack([part, np.ones(len(part))]) for part in standardize(rows[train], rows[test]))
        penalties = np.full(inputs.shape[1], PROBE.penalty)
        penalties[-1] = 0
        # J is convex, and Newton's method finds its minimum in a few steps.
        theta = np.zeros(len(penalties))
        for _ in range(PROBE.steps):
            chances = expit(inputs @ theta)
            slope = inputs.T @ (chances - wanted) + penalties * theta
            if np.linalg.norm(slope) < PROBE.tolerance:
                break
            curvature = (inputs.T * (chances * (1 - chances))) @ inputs + np.diag(penalties)
            theta = theta - np.linalg.solve(curvature, slope)
        scores = tested @ theta
        found = scores > 0
        acc.append(float((found == truth).mean()))
        hits = (found & truth).sum()
        f1.append(float(2 * hits / (found.sum() + truth.sum())) if hits else 0.0)
        pairs = scores[truth][:, np.newaxis] > scores[~truth]
        auc.append(float(pairs.mean()) if pairs.size else 1 / 2)
    return acc, f1, auc
