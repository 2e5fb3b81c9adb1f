"""A linear probe: logistic regression with an L2 penalty, fitted by Newton's method in double precision."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_PENALTY = 30.0
_MOST_STEPS = 30
# A step of Newton's method that is so small leaves an error far below rounding.
_ENOUGH = 1e-7


@dataclass(frozen=True)
class Probe:
    """A fitted probe, with the mean and scale of the features that it was fitted on."""

    weights: NDArray[np.float64]
    bias: float
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    def predict(self, features: NDArray[np.float64]) -> NDArray[np.int64]:
        """The label, 0 or 1, of each row of features."""
        logits = (features - self.mean) / self.scale @ self.weights + self.bias
        return (logits > 0).astype(np.int64)


def fit_probe(features: NDArray[np.float64], labels: NDArray[np.int64]) -> Probe:
    """A probe for features (rows, width) and labels 0 and 1; features are first centred and scaled."""
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    inputs = np.column_stack([(features - mean) / scale, np.ones(len(features))])
    penalty = np.full(inputs.shape[1], _PENALTY)
    # The bias is left free, but for what keeps the system solvable.
    penalty[-1] = 1e-6
    weights = np.zeros(inputs.shape[1])
    for _ in range(_MOST_STEPS):
        probabilities = 1 / (1 + np.exp(-inputs @ weights))
        gradient = inputs.T @ (probabilities - labels) + penalty * weights
        curvature = (inputs.T * (probabilities * (1 - probabilities))) @ inputs + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step
        if np.abs(step).max() < _ENOUGH:
            break
    return Probe(weights[:-1], float(weights[-1]), mean, scale)
