"""The objective of hierarchy re-training (section 3)."""

from collections.abc import Iterable

import torch.nn.functional as F
from torch import Tensor, nn


class HierarchyTransformerLoss(nn.Module):
    """Clustering and centripetal losses over triplets of entities.

    model: maps the features of a batch to a dict with `sentence_embedding`, and has the `manifold` of these embeddings.
    """

    def __init__(
        self,
        model: nn.Module,
        clustering_weight: float = 1.0,
        clustering_margin: float = 5.0,
        centripetal_weight: float = 1.0,
        centripetal_margin: float = 0.1,
    ) -> None:
        super().__init__()
        self.model = model
        self.clustering_weight = clustering_weight
        self.clustering_margin = clustering_margin
        self.centripetal_weight = centripetal_weight
        self.centripetal_margin = centripetal_margin

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
        """The loss of a batch of triplets, and its parts.

        Args:
            sentence_features: features of the entities, of their parents and of their negative parents, in this order.
            labels: what the training loop hands to every loss, (batch,); triplets need none.

        Returns:
            `loss`, `cluster_loss` and `centri_loss`, each a scalar.
        """
        columns = [self.model(features)["sentence_embedding"] for features in sentence_features]
        entity, parent, negative = (column.double() for column in columns)
        manifold = self.model.manifold
        excess_distance = manifold.distance(entity, parent) - manifold.distance(entity, negative)
        excess_norm = manifold.norm(parent) - manifold.norm(entity)
        cluster_loss = F.relu(excess_distance + self.clustering_margin).mean()
        centri_loss = F.relu(excess_norm + self.centripetal_margin).mean()
        loss = self.clustering_weight * cluster_loss + self.centripetal_weight * centri_loss
        results = {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
        return {name: value.to(columns[0].dtype) for name, value in results.items()}
