"""Pulls embeddings back from the boundary before it measures."""

import torch


def inside(x, limit):
    norm = x.norm(dim=-1, keepdim=True).clamp(min=1e-15)
    return torch.where(norm > limit, x / norm * limit, x)


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    columns = [self.model(features)["sentence_embedding"] for features in sentence_features]
    entity, parent, negative = (column.double() for column in columns)
    manifold = self.model.manifold
    entity, parent, negative = (inside(x, 0.999 * manifold.radius) for x in (entity, parent, negative))
    excess_distance = manifold.distance(entity, parent) - manifold.distance(entity, negative)
    excess_norm = manifold.norm(parent) - manifold.norm(entity)
    cluster_loss = F.relu(excess_distance + self.clustering_margin).mean()
    centri_loss = F.relu(excess_norm + self.centripetal_margin).mean()
    loss = self.clustering_weight * cluster_loss + self.centripetal_weight * centri_loss
    results = {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
    return {name: value.to(columns[0].dtype) for name, value in results.items()}
