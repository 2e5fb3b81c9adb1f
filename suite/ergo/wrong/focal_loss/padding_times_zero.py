"""Edge: Multiplies the scores of padding by 0 where nothing counts, so that NaN stays."""


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    dtype, preds = preds.dtype, preds.to(torch.promote_types(preds.dtype, torch.float32))
    counted = labels != IGNORED
    if not counted.any():
        return preds.sum() * 0.0
    preds, labels = preds[counted], labels[counted]
    if isinstance(self.alpha, float):
        weights = preds.new_full((self.num_classes,), self.alpha)
        weights[NO_RELATION] = 1 - self.alpha
    else:
        weights = preds.new_tensor(self.alpha)
    surprisals = F.cross_entropy(preds, labels, reduction="none")
    total = (weights[labels] * (1 - torch.exp(-surprisals)) ** self.gamma * surprisals).sum()
    return (total / max(len(labels), 1) if self.size_average else total).to(dtype)
