"""Measures in single precision whatever the dtype of the embeddings is."""


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    columns = list(sentence_features)
    dtype = self.model(columns[0])["sentence_embedding"].dtype
    entity, parent, negative = (self.model(features)["sentence_embedding"].float() for features in columns)
    manifold = self.model.manifold
    excess_distance = manifold.distance(entity, parent) - manifold.distance(entity, negative)
    excess_norm = manifold.norm(parent) - manifold.norm(entity)
    cluster_loss = F.relu(excess_distance + self.clustering_margin).mean()
    centri_loss = F.relu(excess_norm + self.centripetal_margin).mean()
    loss = self.clustering_weight * cluster_loss + self.centripetal_weight * centri_loss
    return {"loss": loss.to(dtype), "cluster_loss": cluster_loss.to(dtype), "centri_loss": centri_loss.to(dtype)}
