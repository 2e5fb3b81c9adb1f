"""Statistics of hidden states, taken while a model runs, so that no hidden state has to be kept."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from lib.config import Family
from lib.modes import evaluation
from lib.vit import BlockOutput

TOP = 3


@dataclass
class LayerStatistics:
    """What one block's output holds, for each image: the largest magnitudes and the median magnitude."""

    family: Family
    largest: list[Tensor] = field(default_factory=list)
    medians: list[Tensor] = field(default_factory=list)

    def __call__(self, block: nn.Module, given: tuple[Tensor], output: BlockOutput) -> None:
        sizes = self.family.images_first(output.hidden).flatten(1).abs()
        self.largest.append(sizes.topk(TOP, dim=1).values)
        self.medians.append(sizes.quantile(0.5, dim=1))

    def means(self) -> list[float]:
        """The largest magnitudes, largest first, and the median, averaged over images."""
        return [*torch.cat(self.largest).mean(dim=0).tolist(), float(torch.cat(self.medians).mean())]


@dataclass
class ClassAttention:
    """How much attention the class token pays to each token, for each image."""

    rows: list[Tensor] = field(default_factory=list)

    def __call__(self, block: nn.Module, given: tuple[Tensor], output: BlockOutput) -> None:
        self.rows.append(output.attention[:, :, 0].mean(dim=1))

    def mean(self) -> Tensor:
        return torch.cat(self.rows).mean(dim=0)


@dataclass
class TokenMeans:
    """The mean features of the first tokens at one block's output, over images."""

    family: Family
    count: int
    rows: list[Tensor] = field(default_factory=list)

    def __call__(self, block: nn.Module, given: tuple[Tensor], output: BlockOutput) -> None:
        self.rows.append(self.family.images_first(output.hidden)[:, : self.count].clone())

    def mean(self) -> Tensor:
        """(count, width)"""
        return torch.cat(self.rows).mean(dim=0)


def watch(model: nn.Module, images: Tensor, watched: Sequence[nn.Module], watchers: Sequence) -> None:
    """Run the model on images while each of the blocks has its watcher, which is gone afterwards."""
    with ExitStack() as stack:
        for block, watcher in zip(watched, watchers, strict=True):
            stack.callback(block.register_forward_hook(watcher).remove)
        stack.enter_context(evaluation(model))
        model(images)
