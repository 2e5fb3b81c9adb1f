"""Encodes entities and parents for each of the two parts."""


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    features = [*sentence_features]
    columns = [self.model(item)["sentence_embedding"] for item in features]
    entity, parent, negative = (column.double() for column in columns)
    manifold = self.model.manifold
    excess_distance = manifold.distance(entity, parent) - manifold.distance(entity, negative)
    entity, parent = (self.model(item)["sentence_embedding"].double() for item in features[:2])
    excess_norm = manifold.norm(parent) - manifold.norm(entity)
    cluster_loss = F.relu(excess_distance + self.clustering_margin).mean()
    centri_loss = F.relu(excess_norm + self.centripetal_margin).mean()
    loss = self.clustering_weight * cluster_loss + self.centripetal_weight * centri_loss
    results = {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
    return {name: value.to(columns[0].dtype) for name, value in results.items()}
