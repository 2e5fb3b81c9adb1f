"""Orders the columns of each row by a stable sort that puts its own image first."""


def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
    n = features.shape[0]
    images = n // self.config.n_views
    unit = F.normalize(features.double(), dim=1)
    similarity = F.cosine_similarity(unit.unsqueeze(1), unit.unsqueeze(0), dim=2)
    index = torch.arange(n, device=features.device)
    group = (index[:, None] - index[None, :]).remainder(images).ne(0).long()
    # The row itself is sorted behind all others, and cut off.
    group = group + 2 * torch.eye(n, dtype=torch.long, device=features.device)
    columns = group.sort(dim=1, stable=True).indices[:, :-1]
    logits = similarity.gather(1, columns).div(self.config.temperature)
    return logits.to(features.dtype), index.new_zeros(n)
