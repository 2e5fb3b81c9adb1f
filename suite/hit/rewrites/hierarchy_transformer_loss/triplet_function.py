"""The library's triplet loss with a distance function, and a hinge by where on the norms."""

import torch


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    entity, parent, negative = [self.model(features)["sentence_embedding"] for features in sentence_features]
    ball = self.model.manifold
    cluster = F.triplet_margin_with_distance_loss(
        entity, parent, negative, distance_function=ball.distance, margin=self.clustering_margin
    )
    violation = torch.sub(ball.norm(parent), ball.norm(entity)) + self.centripetal_margin
    centri = torch.where(violation > 0, violation, torch.zeros_like(violation)).mean(dim=0)
    loss = torch.add(cluster * self.clustering_weight, centri, alpha=self.centripetal_weight)
    return {"loss": loss, "cluster_loss": cluster, "centri_loss": centri}
