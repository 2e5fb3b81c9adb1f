"""The library's hinge embedding loss on differences of distances, and a hinge by where on the norms."""

import torch


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    embeddings = [self.model(features)["sentence_embedding"] for features in sentence_features]
    entity, parent, negative = (embedding.double() for embedding in embeddings)
    ball = self.model.manifold
    lead = ball.distance(entity, negative) - ball.distance(entity, parent)
    cluster = F.hinge_embedding_loss(lead, -torch.ones_like(lead), margin=self.clustering_margin)
    violation = torch.sub(ball.norm(parent), ball.norm(entity)) + self.centripetal_margin
    centri = torch.where(violation > 0, violation, torch.zeros_like(violation)).mean(dim=0)
    loss = torch.add(cluster * self.clustering_weight, centri, alpha=self.centripetal_weight)
    kind = embeddings[0].dtype
    return {"loss": loss.to(kind), "cluster_loss": cluster.to(kind), "centri_loss": centri.to(kind)}
