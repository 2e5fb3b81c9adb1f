"""Modulates the mean cross-entropy of the batch instead of each pair's."""


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    dtype, counted = preds.dtype, labels != IGNORED
    preds, labels = preds[counted].to(torch.promote_types(dtype, torch.float32)), labels[counted]
    if isinstance(self.alpha, float):
        weights = preds.new_full((self.num_classes,), self.alpha)
        weights[NO_RELATION] = 1 - self.alpha
    else:
        weights = preds.new_tensor(self.alpha)
    cross_entropy = F.cross_entropy(preds, labels, weights, reduction="sum") / max(len(labels), 1)
    total = (1 - torch.exp(-cross_entropy)) ** self.gamma * cross_entropy * max(len(labels), 1)
    return (total / max(len(labels), 1) if self.size_average else total).to(dtype)
