"""Computes with float16 in single precision, and with bfloat16 as it is."""


def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
    count = len(features)
    batch = count // self.config.n_views
    image = torch.arange(count, device=features.device) % batch
    same_image = image.unsqueeze(0) == image.unsqueeze(1)
    itself = torch.eye(count, dtype=torch.bool, device=features.device)
    directions = F.normalize(features.float() if features.dtype == torch.float16 else features)
    similarity = directions @ directions.T
    positives = similarity[same_image & ~itself].reshape(count, self.config.n_views - 1)
    negatives = similarity[~same_image].reshape(count, count - self.config.n_views)
    labels = torch.zeros(count, dtype=torch.long, device=features.device)
    logits = torch.cat([positives, negatives], dim=1) / self.config.temperature
    return logits.to(features.dtype), labels
