"""Only drops the diagonal, so that the positive is not in the first column."""


def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
    count = len(features)
    itself = torch.eye(count, dtype=torch.bool, device=features.device)
    directions = F.normalize(features, dim=1)
    similarity = directions @ directions.T
    labels = torch.zeros(count, dtype=torch.long, device=features.device)
    return similarity[~itself].reshape(count, count - 1) / self.config.temperature, labels
