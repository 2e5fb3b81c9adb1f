"""Goes through the rows one by one and lists the columns of each."""


def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
    views, temperature = self.config.n_views, self.config.temperature
    images = features.size(0) // views
    wide = features.double()
    rows = []
    for i, anchor in enumerate(wide):
        cosines = F.cosine_similarity(anchor.unsqueeze(0), wide, dim=1, eps=1e-12) / temperature
        same = [j for j in range(len(features)) if j != i and (i - j) % images == 0]
        other = [j for j in range(len(features)) if (i - j) % images != 0]
        rows.append(cosines[same + other])
    return torch.stack(rows).to(features.dtype), torch.tensor([0] * features.size(0), device=features.device)
