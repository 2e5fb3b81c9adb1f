"""Edge: Keeps the configuration of the first call."""


def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
    self.settings = getattr(self, "settings", self.config)
    count = len(features)
    batch = count // self.settings.n_views
    image = torch.arange(count, device=features.device) % batch
    same_image = image.unsqueeze(0) == image.unsqueeze(1)
    itself = torch.eye(count, dtype=torch.bool, device=features.device)
    directions = F.normalize(features)
    similarity = directions @ directions.T
    positives = similarity[same_image & ~itself].reshape(count, self.settings.n_views - 1)
    negatives = similarity[~same_image].reshape(count, count - self.settings.n_views)
    labels = torch.zeros(count, dtype=torch.long, device=features.device)
    return torch.cat([positives, negatives], dim=1) / self.settings.temperature, labels
