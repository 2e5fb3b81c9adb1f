"""Selects the columns of both groups by masks."""


def info_nce_loss(self, features):
    count = len(features)
    image = torch.arange(count) % (count // self.config.n_views)
    same_image = image[:, None] == image
    itself = torch.eye(count, dtype=torch.bool)
    directions = F.normalize(features, dim=1)
    logits = directions @ directions.T / self.config.temperature
    positives = logits[same_image & ~itself].view(count, -1)
    negatives = logits[~same_image].view(count, -1)
    return torch.cat([positives, negatives], dim=1), torch.zeros(count, dtype=torch.long)
