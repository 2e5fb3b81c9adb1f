"""Works on a tensor of views by images."""


def info_nce_loss(self, features: Tensor) -> tuple[Tensor, Tensor]:
    views = self.config.n_views
    wide = features.to(torch.promote_types(features.dtype, torch.float32))
    unit = wide / wide.square().sum(dim=1, keepdim=True).sqrt()
    stacked = unit.reshape(views, -1, unit.shape[1])
    images = stacked.shape[1]
    similarity = torch.einsum("vid,wjd->viwj", stacked, stacked)
    rows = []
    for view in range(views):
        for image in range(images):
            own = torch.cat([similarity[view, image, :view, image], similarity[view, image, view + 1 :, image]])
            others = torch.arange(images, device=features.device) != image
            rows.append(torch.cat([own, similarity[view, image][:, others].reshape(-1)]))
    logits = (torch.stack(rows) / self.config.temperature).to(features.dtype)
    return logits, torch.zeros(len(rows), dtype=torch.int64, device=features.device)
