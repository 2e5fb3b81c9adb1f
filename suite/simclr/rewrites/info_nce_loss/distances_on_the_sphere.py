"""Computes cosines from squared distances of unit vectors and ranks the columns of a row by a key."""


def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
    count = features.shape[0]
    images = count // self.config.n_views
    unit = F.normalize(features.float() if features.itemsize == 2 else features, dim=-1)
    cosines = 1 - (unit.unsqueeze(1) - unit.unsqueeze(0)).square().sum(dim=-1) / 2
    place = torch.arange(count)
    rank = torch.where(place[:, None] % images == place % images, place, place + count)
    columns = rank.fill_diagonal_(3 * count).argsort(dim=1)[:, :-1]
    logits = torch.take_along_dim(cosines, columns, dim=1) / self.config.temperature
    return logits.to(features.dtype), torch.zeros_like(place)
