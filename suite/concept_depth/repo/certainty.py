"""How sure probes are of labels. Accuracy on a few test rows is coarse; the probability of a right label is not."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config import DESCENT, PROBE
from features import Features
from functions import expit
from split import split_rows, standardize

Array = NDArray[np.float64]
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Probes:
    """One probe a layer: weights, (layers, width), and biases, (layers,)."""

    weights: Array
    biases: Array

    def scores(self, rows: Array) -> Array:
        """Scores of rows, (layers, rows, width), under the probes of their layers, (layers, rows)."""
        return (rows @ self.weights[:, :, np.newaxis])[..., 0] + self.biases[:, np.newaxis]


@dataclass(frozen=True)
class Certainty:
    """What probes say of labels, one value a layer.

    logp: the mean log-probability of the label. chance: its mean probability. error: the mean squared error of
    probabilities (Brier score). margin: how far rows lie on the side of their label, on average.
    """

    logp: Array
    chance: Array
    error: Array
    margin: Array


def prepare_rows(features_pos: Features, features_neg: Features) -> tuple[Array, Array]:
    """Scaled rows of all layers, (layers, rows, width): those that are trained on, and those that are tested on."""
    rows = np.concatenate([*features_pos, *features_neg])[:, 1:]
    train, test = split_rows(len(rows), PROBE)
    known, tested = standardize(rows[train], rows[test])
    return known.swapaxes(0, 1), tested.swapaxes(0, 1)


def prepare_labels(labels_pos: Labels, labels_neg: Labels) -> tuple[Labels, Labels]:
    """Labels of the rows that are trained on, and of those that are tested on."""
    labels = np.concatenate([labels_pos, labels_neg])
    train, test = split_rows(len(labels), PROBE)
    return labels[train], labels[test]


def train_probes(rows: Array, labels: Labels) -> Probes:
    """Train the probes of all layers at once by gradient descent on equation 1, with the settings of `DESCENT`."""
    layers, count, width = rows.shape
    weights, biases = np.zeros((layers, width)), np.zeros(layers)
    weights_step, biases_step = np.zeros_like(weights), np.zeros_like(biases)
    for _ in range(DESCENT.steps):
        errors = expit(Probes(weights, biases).scores(rows)) - labels
        weights_slope = ((errors[:, np.newaxis] @ rows)[:, 0] + PROBE.penalty * weights) / count
        biases_slope = errors.mean(axis=1)
        weights_step = DESCENT.momentum * weights_step + weights_slope
        biases_step = DESCENT.momentum * biases_step + biases_slope
        weights = weights - DESCENT.rate * weights_step
        biases = biases - DESCENT.rate * biases_step
    return Probes(weights, biases)


def training_losses(probes: Probes, rows: Array, labels: Labels) -> Array:
    """The loss of each probe on the rows that it was trained on."""
    costs = np.logaddexp(0, (1 - 2 * labels) * probes.scores(rows)).mean(axis=1)
    return costs + PROBE.penalty / 2 * (probes.weights**2).sum(axis=1) / len(labels)


def measure_certainty(probes: Probes, rows: Array, labels: Labels) -> Certainty:
    """How sure each probe is of the labels of rows."""
    signed = (2 * labels - 1) * probes.scores(rows)
    return Certainty(
        logp=-np.logaddexp(0, -signed).mean(axis=1),
        chance=expit(signed).mean(axis=1),
        error=(expit(-signed) ** 2).mean(axis=1),
        margin=signed.mean(axis=1),
    )
