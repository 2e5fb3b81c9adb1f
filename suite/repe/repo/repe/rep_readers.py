"""Directions in the hidden states along which a concept varies (section 3.1, step 3)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


def recenter(states: Array, mean: Array | None = None) -> tuple[Array, Array]:
    """States without their mean, or without a mean that is given; and that mean, of shape (1, width)."""
    mean = states.mean(axis=0, keepdims=True) if mean is None else mean
    return states - mean, mean


class RepReader:
    """Finds directions, gives them signs, and projects hidden states onto them.

    directions: layer to (components, width). signs: layer to (components,). H_train_means: layer to (1, width).
    """

    def __init__(self, n_components: int = 1) -> None:
        self.n_components = n_components
        self.directions: dict[int, Array] = {}
        self.signs: dict[int, Array] = {}
        self.H_train_means: dict[int, Array] = {}

    def get_rep_directions(
        self, model: object, tokenizer: object, hidden_states: Mapping[int, Array], hidden_layers: Sequence[int]
    ) -> dict[int, Array]:
        """The directions of each layer."""
        raise NotImplementedError(type(self).__name__)

    def fit(
        self,
        model: object,
        tokenizer: object,
        differences: Mapping[int, Array],
        pairs: Mapping[int, tuple[Array, Array]],
        hidden_layers: Sequence[int],
    ) -> None:
        """Directions from differences within pairs, and signs from the pairs: (more of the concept, less of it)."""
        self.directions = self.get_rep_directions(model, tokenizer, differences, hidden_layers)
        self.signs = self.get_signs(pairs, hidden_layers)

    def get_signs(self, pairs: Mapping[int, tuple[Array, Array]], hidden_layers: Sequence[int]) -> dict[int, Array]:
        """1 where most pairs have the larger projection on the side with more of the concept, otherwise -1."""
        signs = {}
        for layer in hidden_layers:
            more, less = (states @ self.directions[layer].T for states in pairs[layer])
            signs[layer] = np.where((more > less).mean(axis=0) >= 0.5, 1.0, -1.0)
        return signs

    def project_onto_directions(self, states: Array, layer: int, component: int = 0) -> Array:
        """How much of the concept lies in hidden states, (rows,), relative to those that directions were found in."""
        centred, _ = recenter(states, self.H_train_means.get(layer))
        return self.signs[layer][component] * (centred @ self.directions[layer][component])


class PCARepReader(RepReader):
    """Principal components: the first one is the paper's reading vector."""

    def get_rep_directions(
        self, model: object, tokenizer: object, hidden_states: Mapping[int, Array], hidden_layers: Sequence[int]
    ) -> dict[int, Array]:
        """The directions in which the vectors of each layer vary most.

        Args:
            model: the model that was read.
            tokenizer: its tokenizer.
            hidden_states: layer to the vectors to analyse, (rows, width).
            hidden_layers: the layers asked for.

        Returns:
            Layer to directions, (components, width).
        """
        directions = {}
        for layer in hidden_layers:
            rows, self.H_train_means[layer] = recenter(hidden_states[layer])
            axes = np.linalg.svd(rows.astype(np.float64))[2]
            directions[layer] = axes[: self.n_components].astype(rows.dtype)
        return directions


class ClusterMeanRepReader(RepReader):
    """The difference between the means of both halves: a supervised direction to compare with."""

    def get_rep_directions(
        self, model: object, tokenizer: object, hidden_states: Mapping[int, Array], hidden_layers: Sequence[int]
    ) -> dict[int, Array]:
        """The unit vector from the mean of odd rows to that of even rows, which hold more of the concept."""
        directions = {}
        for layer in hidden_layers:
            step = hidden_states[layer][::2].mean(axis=0) - hidden_states[layer][1::2].mean(axis=0)
            directions[layer] = (step / np.linalg.norm(step))[np.newaxis]
        return directions
