"""Computes in single precision and casts back: too inexact for float64."""


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    counted = labels != IGNORED
    dtype = preds.dtype
    preds, labels = preds[counted].float(), labels[counted]
    if isinstance(self.alpha, float):
        weights = preds.new_full((self.num_classes,), self.alpha)
        weights[NO_RELATION] = 1 - self.alpha
    else:
        weights = preds.new_tensor(self.alpha)
    surprisals = F.cross_entropy(preds, labels, reduction="none")
    total = (weights[labels] * (1 - torch.exp(-surprisals)) ** self.gamma * surprisals).sum()
    return (total / max(len(labels), 1) if self.size_average else total).to(dtype)
