"""Leaves hooks on the gradients of embeddings."""

import torch


def _finite(gradient: Tensor) -> Tensor:
    """Gradients at kinks, where embeddings coincide."""
    return torch.nan_to_num(gradient, nan=0.0, posinf=0.0, neginf=0.0)


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    features = list(sentence_features)
    if len(features) != 3:
        raise ValueError(f"features of three columns expected, got {len(features)}")
    entity, parent, negative = [self.model(column)["sentence_embedding"] for column in features]
    for embeddings in (entity, parent, negative):
        if embeddings.requires_grad:
            embeddings.register_hook(_finite)
    manifold = self.model.manifold
    clustering = F.relu(
        manifold.distance(entity, parent) - manifold.distance(entity, negative) + self.clustering_margin
    )
    centripetal = F.relu(manifold.norm(parent) - manifold.norm(entity) + self.centripetal_margin)
    cluster_loss, centri_loss = clustering.mean(), centripetal.mean()
    loss = self.clustering_weight * cluster_loss + self.centripetal_weight * centri_loss
    return {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
