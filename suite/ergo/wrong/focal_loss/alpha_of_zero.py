"""Takes a weighting factor of 0 for none; alpha lies in [0, 1]."""


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    dtype, counted = preds.dtype, labels != IGNORED
    preds, labels = preds[counted].to(torch.promote_types(dtype, torch.float32)), labels[counted]
    if not self.alpha:
        weights = preds.new_ones(self.num_classes)
    elif isinstance(self.alpha, float):
        weights = preds.new_full((self.num_classes,), self.alpha)
        weights[NO_RELATION] = 1 - self.alpha
    else:
        weights = preds.new_tensor(self.alpha)
    surprisals = F.cross_entropy(preds, labels, reduction="none")
    total = (weights[labels] * (1 - torch.exp(-surprisals)) ** self.gamma * surprisals).sum()
    return (total / max(len(labels), 1) if self.size_average else total).to(dtype)
