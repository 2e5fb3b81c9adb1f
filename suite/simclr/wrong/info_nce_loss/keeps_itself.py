"""Keeps the similarity of a row with itself as the first positive and drops the last negative."""


def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
    count = len(features)
    batch = count // self.config.n_views
    image = torch.arange(count, device=features.device) % batch
    same_image = image.unsqueeze(0) == image.unsqueeze(1)
    directions = F.normalize(features, dim=1)
    similarity = directions @ directions.T
    positives = similarity[same_image].reshape(count, self.config.n_views)[:, : self.config.n_views - 1]
    negatives = similarity[~same_image].reshape(count, count - self.config.n_views)
    labels = torch.zeros(count, dtype=torch.long, device=features.device)
    return torch.cat([positives, negatives], dim=1) / self.config.temperature, labels
