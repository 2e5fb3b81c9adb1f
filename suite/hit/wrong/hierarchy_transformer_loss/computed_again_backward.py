"""Calls the model again in the backward pass."""

from torch.utils.checkpoint import checkpoint


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    features = list(sentence_features)
    if len(features) != 3:
        raise ValueError(f"features of three columns expected, got {len(features)}")
    entity, parent, negative = [
        checkpoint(self.model, column, use_reentrant=False)["sentence_embedding"] for column in features
    ]
    manifold = self.model.manifold
    clustering = F.relu(
        manifold.distance(entity, parent) - manifold.distance(entity, negative) + self.clustering_margin
    )
    centripetal = F.relu(manifold.norm(parent) - manifold.norm(entity) + self.centripetal_margin)
    cluster_loss, centri_loss = clustering.mean(), centripetal.mean()
    loss = self.clustering_weight * cluster_loss + self.centripetal_weight * centri_loss
    return {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
