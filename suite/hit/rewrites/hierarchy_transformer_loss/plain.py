"""The formulas of the paper in the precision of the embeddings."""


def forward(self, sentence_features, labels):
    entity, parent, negative = (self.model(features)["sentence_embedding"] for features in sentence_features)
    distance, norm = self.model.manifold.distance, self.model.manifold.norm
    cluster_loss = F.relu(distance(entity, parent) - distance(entity, negative) + self.clustering_margin).mean()
    centri_loss = F.relu(norm(parent) - norm(entity) + self.centripetal_margin).mean()
    loss = self.clustering_weight * cluster_loss + self.centripetal_weight * centri_loss
    return {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
