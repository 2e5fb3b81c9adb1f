"""Edge: Takes the distance from an inverse hyperbolic cosine, whose gradient at equal points is no number."""

import torch


def distance(u, v, c):
    room = (1 - c * u.square().sum(-1)) * (1 - c * v.square().sum(-1))
    return torch.acosh(1 + 2 * c * (u - v).square().sum(-1) / room) / c**0.5


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    columns = [self.model(features)["sentence_embedding"] for features in sentence_features]
    entity, parent, negative = (column.double() for column in columns)
    manifold = self.model.manifold
    c = manifold.curvature
    excess_distance = distance(entity, parent, c) - distance(entity, negative, c)
    excess_norm = manifold.norm(parent) - manifold.norm(entity)
    cluster_loss = F.relu(excess_distance + self.clustering_margin).mean()
    centri_loss = F.relu(excess_norm + self.centripetal_margin).mean()
    loss = self.clustering_weight * cluster_loss + self.centripetal_weight * centri_loss
    results = {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
    return {name: value.to(columns[0].dtype) for name, value in results.items()}
