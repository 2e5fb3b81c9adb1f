"""Takes the configured batch for the largest possible number of images."""


def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
    count = len(features)
    batch = min(self.config.batch, count // self.config.n_views)
    image = torch.arange(count, device=features.device) % batch
    same_image = image.unsqueeze(0) == image.unsqueeze(1)
    itself = torch.eye(count, dtype=torch.bool, device=features.device)
    directions = F.normalize(features)
    similarity = directions @ directions.T
    rows = [torch.cat([row[same & ~own], row[~same]]) for row, same, own in zip(similarity, same_image, itself)]
    labels = torch.zeros(count, dtype=torch.long, device=features.device)
    return torch.stack(rows) / self.config.temperature, labels
