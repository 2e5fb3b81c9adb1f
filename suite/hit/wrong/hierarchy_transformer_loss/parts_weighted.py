"""Returns the parts with their weights."""


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    columns = [self.model(features)["sentence_embedding"] for features in sentence_features]
    entity, parent, negative = (column.double() for column in columns)
    manifold = self.model.manifold
    excess_distance = manifold.distance(entity, parent) - manifold.distance(entity, negative)
    excess_norm = manifold.norm(parent) - manifold.norm(entity)
    cluster_loss = self.clustering_weight * F.relu(excess_distance + self.clustering_margin).mean()
    centri_loss = self.centripetal_weight * F.relu(excess_norm + self.centripetal_margin).mean()
    loss = cluster_loss + centri_loss
    results = {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
    return {name: value.to(columns[0].dtype) for name, value in results.items()}
