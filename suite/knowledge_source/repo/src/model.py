"""A tiny decoder-only transformer (Section 3.3) whose weights are written, not trained, from what it is to know.

The residual stream has four blocks of `width` numbers (the token; the name that ends here; the name that was spoken of
last; the answer) and four single features. Layer 1 gathers names and recognises subjects, layer 2 looks back at the
last name, layer 3 recalls facts, layer 4 copies from the context and spells. All weights carry noise, and hidden units
that none of this needs are random.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from src.config import Settings
from src.tokenizer import STOP, Tokenizer

Array = NDArray[np.float64]
_SHARPNESS = 8.0
_SPELLING = 3.0


@dataclass
class Layer:
    """One head of attention and one MLP.

    match: maps tokens to queries and to keys alike, (size, any width). salience: what makes any token attend to a key.
    distance: by how much a score falls with each token of distance. strict: a token does not attend to itself.
    """

    match: Array
    salience: Array
    value: Array
    bias: float
    distance: float
    strict: bool
    mlp_in: Array
    mlp_bias: Array
    mlp_out: Array

    def __call__(self, stream: Array) -> tuple[Array, dict[str, Array]]:
        """The stream after this layer, and the activations of its modules."""
        mhsa = self._attention(stream) @ self.value
        stream = stream + mhsa
        hidden = np.maximum(stream @ self.mlp_in + self.mlp_bias, 0.0)
        mlp = hidden @ self.mlp_out
        return stream + mlp, {"mlp": mlp, "mlp_l1": hidden, "mhsa": mhsa}

    def _attention(self, stream: Array) -> Array:
        """A weighted sum of the stream's rows for each token; what is left of the weights goes to nothing."""
        places = np.arange(len(stream))
        back = places[:, None] - places
        matched = stream @ self.match
        scores = matched @ matched.T + stream @ self.salience + self.bias - self.distance * back
        scores = np.where(back >= int(self.strict), scores, -np.inf)
        top = np.maximum(scores.max(axis=1, keepdims=True), 0.0)
        weights = np.exp(scores - top)
        return weights / (np.exp(-top) + weights.sum(axis=1, keepdims=True)) @ stream


class TinyModel:
    """A language model that knows the `learned_object` of every triplet of a knowledge base, as firmly as it says.

    relations: for each relation its text, by its lemma. Names in `other_names` are known as names alone.
    """

    def __init__(
        self,
        knowledge_base: pd.DataFrame,
        relation_texts: dict[str, str],
        other_names: set[str],
        tokenizer: Tokenizer,
        settings: Settings,
    ) -> None:
        self.tokenizer, self.settings = tokenizer, settings
        self._generator = np.random.default_rng(settings.seed)
        width = settings.width
        self._size = 4 * width + 4
        starts = range(0, 4 * width, width)
        self._token, self._name, self._subject, self._answer = (slice(start, start + width) for start in starts)
        self._is_name, self._known, self._subject_known, self._fact = range(4 * width, self._size)
        vectors = self._generator.normal(size=(len(tokenizer), width))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        self.embedding = np.zeros((len(tokenizer), self._size))
        self.embedding[:, self._token] = vectors
        objects = set(knowledge_base.object) | set(knowledge_base.learned_object)
        name_tokens = {token for name in {*knowledge_base.subject, *objects, *other_names} for token in self._ids(name)}
        self.embedding[sorted(name_tokens), self._is_name] = 1.0
        self._vectors = vectors
        self.layers: list[Layer] = []
        self._add_naming(knowledge_base)
        self._add_looking_back()
        self._add_facts(knowledge_base, relation_texts)
        self._add_copying(sorted(objects))

    def forward(self, token_ids: list[int]) -> tuple[Array, list[dict[str, Array]]]:
        """Log-probabilities of each next token, (tokens, vocabulary), and the activations of each layer's modules."""
        stream = self.embedding[token_ids]
        activations = []
        for layer in self.layers:
            stream, of_layer = layer(stream)
            activations.append(of_layer)
        logits = _SHARPNESS * stream[:, self._answer] @ self._vectors.T
        top = logits.max(axis=1, keepdims=True)
        return logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True)), activations

    def generate(self, prompt: str) -> tuple[list[int], Array, list[dict[str, Array]]]:
        """The greedy continuation up to a stop, exclusive, with the log-probabilities of its first token.

        The activations are those of the prompt alone, as `forward` gives them.
        """
        prompted = self._ids(prompt)
        stop = self._ids(STOP)[0]
        log_probas, activations = self.forward(prompted)
        written: list[int] = []
        following = log_probas
        while len(written) < self.settings.max_gen_tokens and (token := int(following[-1].argmax())) != stop:
            written.append(token)
            following, _ = self.forward([*prompted, *written])
        return written, log_probas[-1], activations

    def _ids(self, text: str) -> list[int]:
        return self.tokenizer.encode(text)

    def _signature(self, text: str) -> Array:
        """The name block that the first layer writes at the last token of a text."""
        _, activations = self.layers[0](self.embedding[self._ids(text)])
        return activations["mhsa"][-1, self._name]

    def _noisy(self, *shape: int) -> Array:
        return self.settings.noise * self._generator.normal(size=shape) / np.sqrt(shape[0])

    def _add_layer(self, bias: float, distance: float, strict: bool) -> Layer:
        size, hidden = self._size, self.settings.hidden
        layer = Layer(
            match=np.zeros((size, 0)),
            salience=np.zeros(size),
            value=self._noisy(size, size),
            bias=bias,
            distance=distance,
            strict=strict,
            mlp_in=self._generator.normal(size=(size, hidden)) / np.sqrt(self.settings.width),
            mlp_bias=np.zeros(hidden),
            mlp_out=self._noisy(hidden, size),
        )
        self.layers.append(layer)
        return layer

    def _remember(self, layer: Layer, unit: int, keys: list[tuple[slice, Array]], threshold: float) -> None:
        """Make a hidden unit respond where the stream holds just these keys, and hardly where it is less like them."""
        scale = 1 / (sum(float(key @ key) for _, key in keys) * (1 - threshold))
        layer.mlp_in[:, unit], layer.mlp_out[unit] = 0.0, 0.0
        layer.mlp_bias[unit] = -threshold / (1 - threshold)
        for block, key in keys:
            layer.mlp_in[block, unit] = scale * key

    def _add_naming(self, knowledge_base: pd.DataFrame) -> None:
        layer = self._add_layer(bias=30.0, distance=1.5, strict=False)
        layer.value[self._token, self._name] += np.eye(self.settings.width)
        for unit, (subject, known) in enumerate(knowledge_base.groupby("subject").popularity.mean().items()):
            self._remember(layer, unit, [(self._name, self._signature(f". {subject}"))], 0.7)
            layer.mlp_out[unit, self._known] = known

    def _add_looking_back(self) -> None:
        layer = self._add_layer(bias=0.0, distance=3.0, strict=True)
        layer.salience[self._is_name] = 30.0
        layer.value[self._name, self._subject] += np.eye(self.settings.width)
        layer.value[self._known, self._subject_known] += 1.0

    def _add_facts(self, knowledge_base: pd.DataFrame, relation_texts: dict[str, str]) -> None:
        layer = self._add_layer(bias=0.0, distance=0.0, strict=True)
        for unit, fact in enumerate(knowledge_base.itertuples()):
            query = f". {fact.subject} {relation_texts[fact.rel_lemma]}"
            keys = [(self._subject, self._signature(f". {fact.subject}")), (self._name, self._signature(query))]
            self._remember(layer, unit, keys, 0.75)
            layer.mlp_out[unit, self._answer] += fact.strength * self._vectors[self._ids(fact.learned_object)[0]]
            layer.mlp_out[unit, self._fact] += fact.strength

    def _add_copying(self, objects: list[str]) -> None:
        layer = self._add_layer(bias=-32.0, distance=0.0, strict=True)
        layer.match = 5.0 * np.eye(self._size)[:, self._subject]
        layer.salience[self._is_name] = 20.0
        layer.value[self._token, self._answer] += np.eye(self.settings.width)
        pairs = [pair for name in objects for pair in pairwise([*self._ids(name), *self._ids(STOP)])]
        for unit, (token, following) in enumerate(dict.fromkeys(pairs)):
            self._remember(layer, unit, [(self._token, self._vectors[token])], 0.8)
            layer.mlp_out[unit, self._answer] += _SPELLING * self._vectors[following]
