"""One triplet at a time; the norm is the distance to the origin."""

import torch


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    batches = [self.model(features)["sentence_embedding"] for features in sentence_features]
    distance = self.model.manifold.distance
    count, dtype = len(batches[0]), batches[0].dtype
    cluster = centri = torch.zeros((), dtype=torch.float64)
    for entity, parent, negative in zip(*(batch.double() for batch in batches)):
        origin = torch.zeros_like(entity)
        violation = self.clustering_margin + distance(parent, entity) - distance(negative, entity)
        cluster = cluster + torch.relu(violation) / count
        violation = self.centripetal_margin + distance(origin, parent) - distance(origin, entity)
        centri = centri + torch.relu(violation) / count
    loss = self.clustering_weight * cluster + self.centripetal_weight * centri
    return {"loss": loss.to(dtype), "cluster_loss": cluster.to(dtype), "centri_loss": centri.to(dtype)}
