"""Changing a few activations of a hidden state before the next block sees them."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from lib.config import Family
from lib.vit import BlockOutput


@dataclass
class SetActivations:
    """Sets some activations of every image to values of their own, one for each rank.

    ranks: which activations, by the rank of their magnitude within the image's hidden state; 0 is the largest.
    values: what they are set to, a value for each rank.
    seen: what they were, (images, ranks), for each batch.
    """

    family: Family
    ranks: Sequence[int]
    values: Tensor
    seen: list[Tensor] = field(default_factory=list)

    def __call__(self, block: nn.Module, given: tuple[Tensor], output: BlockOutput) -> BlockOutput:
        hidden = self.family.images_first(output.hidden).clone()
        flat = hidden.flatten(1)
        places = flat.abs().argsort(dim=1, descending=True)[:, list(self.ranks)]
        self.seen.append(flat.gather(1, places))
        flat = flat.scatter(1, places, self.values.expand(len(flat), -1))
        return BlockOutput(self.family.images_first(flat.view_as(hidden)).contiguous(), output.attention)

    def mean_seen(self) -> Tensor:
        return torch.cat(self.seen).mean(dim=0)


@dataclass
class FixTokens:
    """Replaces the features of tokens, from a position on, by fixed ones."""

    family: Family
    start: int
    features: Tensor

    def __call__(self, block: nn.Module, given: tuple[Tensor], output: BlockOutput) -> BlockOutput:
        hidden = self.family.images_first(output.hidden).clone()
        hidden[:, self.start : self.start + len(self.features)] = self.features
        return BlockOutput(self.family.images_first(hidden).contiguous(), output.attention)


@contextmanager
def intervening(blocks: Sequence[nn.Module], interventions: Sequence) -> Iterator[None]:
    """While this is open, each of the blocks returns what its intervention makes of its output."""
    with ExitStack() as stack:
        for block, intervention in zip(blocks, interventions, strict=True):
            stack.callback(block.register_forward_hook(intervention).remove)
        yield
