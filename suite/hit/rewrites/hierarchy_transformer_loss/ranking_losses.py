"""Both parts as margin ranking losses of the library, on embeddings stacked into one tensor."""

import torch


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    columns = [self.model(features)["sentence_embedding"] for features in sentence_features]
    stacked = torch.stack(columns).double()
    ball = self.model.manifold
    near, far = ball.distance(stacked[:1], stacked[1:])
    norms = ball.norm(stacked)
    greater = torch.ones_like(near)
    cluster = F.margin_ranking_loss(far, near, greater, margin=self.clustering_margin)
    centri = F.margin_ranking_loss(norms[0], norms[1], greater, margin=self.centripetal_margin)
    weights = cluster.new_tensor([self.clustering_weight, self.centripetal_weight])
    results = {"loss": weights @ torch.stack((cluster, centri)), "cluster_loss": cluster, "centri_loss": centri}
    return {name: result.type_as(columns[0]) for name, result in results.items()}
