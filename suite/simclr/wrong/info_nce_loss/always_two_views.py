"""Finds positives half a batch away, whatever the number of views is."""


def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
    count = len(features)
    batch = max(count // 2, 1)
    image = torch.arange(count, device=features.device) % batch
    same_image = image.unsqueeze(0) == image.unsqueeze(1)
    itself = torch.eye(count, dtype=torch.bool, device=features.device)
    directions = F.normalize(features, dim=1)
    similarity = directions @ directions.T
    positives = (
        similarity[~itself]
        .reshape(count, count - 1)
        .gather(
            1,
            same_image[~itself]
            .reshape(count, count - 1)
            .double()
            .argsort(dim=1, descending=True, stable=True)[:, : self.config.n_views - 1],
        )
    )
    negatives = (
        similarity[~itself]
        .reshape(count, count - 1)
        .gather(
            1,
            same_image[~itself]
            .reshape(count, count - 1)
            .double()
            .argsort(dim=1, descending=True, stable=True)[:, self.config.n_views - 1 :],
        )
    )
    labels = torch.zeros(count, dtype=torch.long, device=features.device)
    return torch.cat([positives, negatives], dim=1) / self.config.temperature, labels
