"""A small causal transformer whose weights are set by hand.

It reads a text from its end. Each layer lets every position see what the position before it had put together in the
layer before, so that the last position knows of one more word with every layer. Tones of words are added, turns are
multiplied. Both are kept along random directions of a narrow stream, beside all that makes words differ, so that what
is read along one of them is never quite clean.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from config import ModelConfig
from functions import expit, softmax
from vocabulary import NOISE, PAD, Word

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Directions:
    """Unit vectors of the stream, (width,) each: a word's own tone and turn, and what was put together up to it."""

    tone: Array
    turn: Array
    sum: Array
    product: Array
    carried: Array


@dataclass(frozen=True)
class Layer:
    """Weights of one layer. Vectors are rows, and are multiplied from the left.

    previous: what one head takes over from words before. own: what another does with the word itself.
    gate, up, down: the feed-forward part.
    """

    previous: Array
    own: Array
    gate: Array
    up: Array
    down: Array


class TinyTransformer:
    """Embeddings and layers. Positions are known by their distance alone."""

    def __init__(self, words: list[Word], config: ModelConfig, seed: int) -> None:
        generator = np.random.default_rng(seed)
        self.config = config
        self.pad_id = next(place for place, word in enumerate(words) if word.text == PAD)
        directions = _make_directions(config.width, generator)
        self.salience = np.array([config.pull * (word.text in NOISE) for word in words])
        self.embedding = _make_embedding(words, directions, generator)
        self.layers = [_make_layer(directions, config, generator) for _ in range(config.layers)]

    def __call__(self, ids: NDArray[np.int64]) -> list[Array]:
        """Hidden states, (texts, words) to (texts, words, width): the embeddings, then those of each layer."""
        hidden = [self.embedding[ids]]
        seen = self._attention(ids)
        for layer in self.layers:
            # One row a word, which is faster than one matrix a text.
            words = hidden[-1].reshape(-1, self.config.width)
            taken = seen @ (words @ layer.previous).reshape(hidden[-1].shape)
            words = words + taken.reshape(words.shape) + words @ layer.own
            gated = words @ layer.gate
            words = words + (gated * expit(gated) * (words @ layer.up)) @ layer.down
            hidden.append(_bound(words, self.config.longest).reshape(hidden[-1].shape))
        return hidden

    def _attention(self, ids: NDArray[np.int64]) -> Array:
        """Weights of the words that each position takes over from, (texts, words, words).

        Most goes to the word at the reach of the model, a little to all others, and much to strings that stand out.
        """
        places = np.arange(ids.shape[1])
        distances = places[:, np.newaxis] - places
        # A position of the filling sees itself.
        visible = (distances >= 0) & (ids != self.pad_id)[:, np.newaxis, :] | np.eye(len(places), dtype=bool)
        away = np.minimum(np.abs(distances - self.config.reach), 2)
        scores = self.salience[ids][:, np.newaxis, :] - self.config.sharpness * away
        return softmax(np.where(visible, scores, -np.inf))


def _bound(states: Array, longest: float) -> Array:
    """States as they are, or as long as is allowed."""
    lengths = np.sqrt(np.einsum("rw,rw->r", states, states))[:, np.newaxis]
    return states * np.minimum(1.0, longest / np.maximum(lengths, longest / 2))


def _make_directions(width: int, generator: np.random.Generator) -> Directions:
    vectors = generator.normal(size=(5, width))
    return Directions(*(vectors / np.linalg.norm(vectors, axis=1, keepdims=True)))


def _make_embedding(words: list[Word], directions: Directions, generator: np.random.Generator) -> Array:
    """What is known of each word along the directions, and noise of its own. Strings that are no words have more."""
    width = len(directions.tone)
    rows = []
    for word in words:
        known = word.tone * (directions.tone + directions.sum) + word.turn * (directions.turn + directions.product)
        spread = 1.5 if word.text in NOISE else 0.35
        rows.append(known + spread * generator.normal(size=width) / np.sqrt(width))
    return np.stack(rows)


def _make_layer(directions: Directions, config: ModelConfig, generator: np.random.Generator) -> Layer:
    width = config.width
    previous = np.outer(directions.sum, directions.sum) + np.outer(directions.product, directions.carried)
    own = (
        np.outer(directions.tone - directions.sum, directions.sum)
        - np.outer(directions.product, directions.product)
        - np.outer(directions.carried, directions.carried)
    )
    gate = generator.normal(size=(width, config.hidden)) / np.sqrt(width)
    up = generator.normal(size=(width, config.hidden)) / np.sqrt(width)
    down = 0.1 * generator.normal(size=(config.hidden, width)) / np.sqrt(config.hidden)
    # Two units multiply: what one lets through where the turn is positive, the other does where it is negative.
    gate[:, 0], gate[:, 1] = directions.turn, -directions.turn
    up[:, 0], up[:, 1] = directions.carried, -directions.carried
    down[0], down[1] = directions.product, directions.product
    # One unit in use by no word has weights that are far larger than all others, as in large models.
    gate[:, -1], up[:, -1], down[-1] = 0.0, 0.0, 0.0
    for matrix in (gate, up):
        matrix[0, -1] = config.outlier
    return Layer(previous, own, gate, up, down)


def quantize(model: TinyTransformer, bits: int) -> TinyTransformer:
    """A copy whose weights have no more than so many bits."""
    copy = object.__new__(TinyTransformer)
    copy.config, copy.pad_id, copy.salience = model.config, model.pad_id, model.salience
    copy.embedding = _to_levels(model.embedding, bits)
    copy.layers = [
        replace(layer, **{name: _to_levels(matrix, bits) for name, matrix in vars(layer).items()})
        for layer in model.layers
    ]
    return copy


def _to_levels(matrix: Array, bits: int) -> Array:
    step = np.abs(matrix).max() / (2 ** (bits - 1) - 1)
    return matrix if step == 0 else np.round(matrix / step) * step
