"""Edge: Keeps the manifold and the margins of the first call."""


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    columns = [self.model(features)["sentence_embedding"] for features in sentence_features]
    entity, parent, negative = (column.double() for column in columns)
    if not hasattr(self, "settings"):
        self.settings = self.model.manifold, self.clustering_margin, self.centripetal_margin
    manifold, clustering_margin, centripetal_margin = self.settings
    excess_distance = manifold.distance(entity, parent) - manifold.distance(entity, negative)
    excess_norm = manifold.norm(parent) - manifold.norm(entity)
    cluster_loss = F.relu(excess_distance + clustering_margin).mean()
    centri_loss = F.relu(excess_norm + centripetal_margin).mean()
    loss = self.clustering_weight * cluster_loss + self.centripetal_weight * centri_loss
    results = {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
    return {name: value.to(columns[0].dtype) for name, value in results.items()}
