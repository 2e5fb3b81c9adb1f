"""Goes through the rows one by one and lists the columns of each."""


def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
    views, temperature = self.config.n_views, self.config.temperature
    images = features.size(0) // views
    rows = []
    for i, anchor in enumerate(features):
        cosines = F.cosine_similarity(anchor.unsqueeze(0), features, dim=1) / temperature
        same = [j for j in range(len(features)) if j != i and (i - j) % images == 0]
        other = [j for j in range(len(features)) if (i - j) % images != 0]
        rows.append(cosines[same + other])
    return torch.stack(rows), torch.tensor([0] * features.size(0), device=features.device)
