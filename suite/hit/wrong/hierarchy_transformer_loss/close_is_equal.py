"""Takes an entity and its parent for the same where they are close to each other."""

import torch


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    columns = [self.model(features)["sentence_embedding"] for features in sentence_features]
    entity, parent, negative = (column.double() for column in columns)
    manifold = self.model.manifold
    near = manifold.distance(entity, parent).masked_fill(torch.isclose(entity, parent).all(-1), 0.0)
    excess_distance = near - manifold.distance(entity, negative)
    excess_norm = manifold.norm(parent) - manifold.norm(entity)
    cluster_loss = F.relu(excess_distance + self.clustering_margin).mean()
    centri_loss = F.relu(excess_norm + self.centripetal_margin).mean()
    loss = self.clustering_weight * cluster_loss + self.centripetal_weight * centri_loss
    results = {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
    return {name: value.to(columns[0].dtype) for name, value in results.items()}
