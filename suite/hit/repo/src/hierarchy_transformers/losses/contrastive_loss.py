"""The standard contrastive loss, which the paper compares with its own (appendix C)."""

from collections.abc import Iterable

from torch import Tensor, nn


class HyperbolicContrastiveLoss(nn.Module):
    """Makes distances of related pairs small, and lets unrelated ones reach a margin."""

    def __init__(self, model: nn.Module, margin: float = 5.0) -> None:
        super().__init__()
        self.model = model
        self.margin = margin

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
        """The `loss` of a batch of pairs, a scalar.

        sentence_features: features of the entities and of those that they are paired with.
        labels: 1 where the second is a parent of the first and 0 elsewhere, (batch,).
        """
        entity, other = (self.model(features)["sentence_embedding"] for features in sentence_features)
        distances = self.model.manifold.distance(entity, other)
        losses = distances.where(labels == 1, (self.margin - distances).clamp(min=0))
        return {"loss": losses.mean()}
