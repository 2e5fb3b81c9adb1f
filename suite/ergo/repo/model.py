"""ERGO: encoder, event relational graph transformer and classifier, and the loss that it is trained with."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from data import IGNORED, NO_RELATION, WORDS, Batch
from encoder import DocumentEncoder
from graph import RelationalGraphLayer, criss_cross, pair_nodes


@dataclass(frozen=True)
class ErgoConfig:
    """Sizes of the model; without the criss-cross constraint the graph is complete."""

    num_classes: int = 3
    width: int = 16
    heads: int = 2
    layers: int = 2
    criss_cross: bool = True


class ERGO(nn.Module):
    """Classifies every pair of events of a document, each pair in view of the others."""

    def __init__(self, config: ErgoConfig, seed: int = 0) -> None:
        """Draw the weights of encoder, graph and classifier, each from a seed of its own.

        This seeds PyTorch's global generator; `build_model` restores it.
        """
        super().__init__()
        self.config = config
        torch.manual_seed(seed)
        self.encoder = DocumentEncoder(len(WORDS), config.width)
        torch.manual_seed(seed + 2**20)
        self.layers = nn.ModuleList(RelationalGraphLayer(2 * config.width, config.heads) for _ in range(config.layers))
        torch.manual_seed(seed + 2**21)
        self.classifier = nn.Linear(3 * config.width, config.num_classes)

    def forward(self, batch: Batch) -> Tensor:
        """Unnormalised scores of the classes, (batch, N, num_classes); those of padding mean nothing."""
        documents, events = self.encoder(batch.tokens, batch.markers)
        nodes = pair_nodes(events, batch.pairs)
        # Padding may see itself, for a softmax needs something to run over, and nothing else sees padding.
        edges = batch.real[:, None, :] & batch.real[:, :, None] | torch.eye(batch.pairs.shape[1], dtype=torch.bool)
        if self.config.criss_cross:
            edges = edges & criss_cross(batch.pairs)
        for layer in self.layers:
            nodes = layer(nodes, edges)
        context = documents.unsqueeze(1).expand(-1, nodes.shape[1], -1)
        return self.classifier(torch.cat((nodes, context), dim=-1))


class focal_loss(nn.Module):  # noqa: N801 - the name that the paper's code gave it
    """The adaptive focal loss (paper, section 3.3) over the event pairs of a batch."""

    def __init__(
        self, alpha: float | Sequence[float] = 0.75, gamma: float = 2.0, num_classes: int = 3, size_average: bool = True
    ) -> None:
        """Keep the settings.

        Args:
            alpha: the weighting factor, kept as a float; or one weight a class, kept as a tuple.
            gamma: the focusing parameter, 0 or from 1 on.
            num_classes: how many classes there are.
            size_average: average over the pairs instead of adding them up.
        """
        super().__init__()
        self.alpha = float(alpha) if isinstance(alpha, int | float) else tuple(alpha)
        if isinstance(self.alpha, tuple) and len(self.alpha) != num_classes:
            raise ValueError(f"{len(self.alpha)} weights for {num_classes} classes")
        self.gamma = gamma
        self.num_classes = num_classes
        self.size_average = size_average

    def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
        """The loss of a batch of event pairs.

        Args:
            preds: what the classifier returns, (..., num_classes).
            labels: classes of the pairs, or IGNORED, (...).

        Returns:
            A scalar.
        """
        dtype, counted = preds.dtype, labels != IGNORED
        preds, labels = preds[counted].to(torch.promote_types(dtype, torch.float32)), labels[counted]
        if isinstance(self.alpha, float):
            weights = preds.new_full((self.num_classes,), self.alpha)
            weights[NO_RELATION] = 1 - self.alpha
        else:
            weights = preds.new_tensor(self.alpha)
        surprisals = F.cross_entropy(preds, labels, reduction="none")
        total = (weights[labels] * (1 - torch.exp(-surprisals)) ** self.gamma * surprisals).sum()
        return (total / max(len(labels), 1) if self.size_average else total).to(dtype)


def build_model(config: ErgoConfig, seed: int) -> ERGO:
    """A model whose weights depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        return ERGO(config, seed)
