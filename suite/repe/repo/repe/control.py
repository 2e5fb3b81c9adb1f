"""Control: hidden states are moved along a reading vector, or lose their part along it."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from torch import Tensor

from repe.pipeline import ReadingPipeline
from repe.rep_readers import RepReader


def added(states: Tensor, vector: Tensor, strength: float) -> Tensor:
    """Hidden states, (..., width), moved along a vector."""
    return states + strength * vector


def removed(states: Tensor, vector: Tensor) -> Tensor:
    """Hidden states, (..., width), without their part along a vector."""
    return states - (states @ vector).unsqueeze(-1) / vector.square().sum() * vector


def reading_vectors(reader: RepReader, layers: Sequence[int]) -> dict[int, Tensor]:
    """The first direction of each layer, turned so that more of the concept projects higher."""
    return {layer: torch.from_numpy(reader.signs[layer][0] * reader.directions[layer][0]) for layer in layers}


def moves(vectors: Mapping[int, Tensor], strength: float | None) -> dict[int, Callable[[Tensor], Tensor]]:
    """Edits that move hidden states along the vector of each layer, or that remove it if the strength is None."""
    if strength is None:
        return {layer: partial(removed, vector=vector) for layer, vector in vectors.items()}
    return {layer: partial(added, vector=vector, strength=strength) for layer, vector in vectors.items()}


@torch.no_grad()
def controlled(
    pipeline: ReadingPipeline, texts: Sequence[str], edits: Mapping[int, Callable[[Tensor], Tensor]]
) -> Tensor:
    """Hidden states of the last token in the last layer, (texts, width), under edits. All texts are equally long."""
    ids = [pipeline.tokenizer.encode(pipeline.template.format(text=text)) for text in texts]
    return pipeline.model(torch.tensor(ids), edits)[-1][:, -1]
