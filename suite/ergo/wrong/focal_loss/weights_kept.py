"""Edge: Keeps the weights of the first call."""


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    dtype, counted = preds.dtype, labels != IGNORED
    preds, labels = preds[counted].to(torch.promote_types(dtype, torch.float32)), labels[counted]
    if hasattr(self, "weights"):
        weights = self.weights.to(preds.dtype)
    elif isinstance(self.alpha, float):
        weights = preds.new_full((self.num_classes,), self.alpha)
        weights[NO_RELATION] = 1 - self.alpha
    else:
        weights = preds.new_tensor(self.alpha)
    self.weights = weights
    surprisals = F.cross_entropy(preds, labels, reduction="none")
    total = (weights[labels] * (1 - torch.exp(-surprisals)) ** self.gamma * surprisals).sum()
    return (total / max(len(labels), 1) if self.size_average else total).to(dtype)
