"""Linear artificial tomography: stimuli, neural activity, a linear model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from model import TinyTransformer
from repe.rep_readers import ClusterMeanRepReader, RepReader
from tokenizer import WordTokenizer

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Stimulus:
    """Two texts that differ in how much of the concept they hold, in an order that tells nothing."""

    texts: tuple[str, str]
    first_has_more: bool


class ReadingPipeline:
    """Collects hidden states at the last token of a template, and fits readers to them."""

    def __init__(self, model: TinyTransformer, tokenizer: WordTokenizer, template: str) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.template = template

    @torch.no_grad()
    def activity(self, texts: Sequence[str], layers: Sequence[int]) -> dict[int, Array]:
        """Hidden states of the last token, layer to (texts, width)."""
        prompts = [self.tokenizer.encode(self.template.format(text=text)) for text in texts]
        states = [self.model(torch.tensor([ids])) for ids in prompts]
        return {layer: np.stack([item[layer][0, -1].numpy() for item in states]) for layer in layers}

    def fit(self, reader: RepReader, stimuli: Sequence[Stimulus], layers: Sequence[int]) -> RepReader:
        """Find directions in the differences within pairs, whose order is as it came; signs from the labels."""
        first = self.activity([item.texts[0] for item in stimuli], layers)
        second = self.activity([item.texts[1] for item in stimuli], layers)
        more_first = np.array([item.first_has_more for item in stimuli])[:, np.newaxis]
        pairs, inputs = {}, {}
        for layer in layers:
            more = np.where(more_first, first[layer], second[layer])
            less = np.where(more_first, second[layer], first[layer])
            pairs[layer] = (more, less)
            if isinstance(reader, ClusterMeanRepReader):
                inputs[layer] = np.stack([more, less], axis=1).reshape(-1, more.shape[1])
            else:
                inputs[layer] = first[layer] - second[layer]
        reader.fit(self.model, self.tokenizer, inputs, pairs, layers)
        return reader

    def accuracy(self, reader: RepReader, stimuli: Sequence[Stimulus], layer: int) -> float:
        """The share of pairs in which the reader finds more of the concept where there is more."""
        scores = [
            reader.project_onto_directions(self.activity([item.texts[side] for item in stimuli], [layer])[layer], layer)
            for side in (0, 1)
        ]
        truth = np.array([item.first_has_more for item in stimuli])
        return float(((scores[0] > scores[1]) == truth).mean())
