"""The losses of torch, one over distances that it is given and one over ranks."""

import torch


def forward(self, sentence_features, labels):
    embeddings = [self.model(features)["sentence_embedding"] for features in sentence_features]
    ball = self.model.manifold
    cluster = F.triplet_margin_with_distance_loss(
        *embeddings, distance_function=ball.distance, margin=self.clustering_margin
    )
    inner, outer = ball.norm(embeddings[1]), ball.norm(embeddings[0])
    centri = F.margin_ranking_loss(outer, inner, torch.ones_like(inner), margin=self.centripetal_margin)
    total = self.clustering_weight * cluster + self.centripetal_weight * centri
    return {"loss": total, "cluster_loss": cluster, "centri_loss": centri}
