"""Edge: Views the batch as one row of pairs, which only contiguous tensors can be."""


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    preds, labels = preds.view(-1, preds.shape[-1]), labels.view(-1)
    dtype, counted = preds.dtype, labels != IGNORED
    preds, labels = preds[counted].to(torch.promote_types(dtype, torch.float32)), labels[counted]
    if isinstance(self.alpha, float):
        weights = preds.new_full((self.num_classes,), self.alpha)
        weights[NO_RELATION] = 1 - self.alpha
    else:
        weights = preds.new_tensor(self.alpha)
    surprisals = F.cross_entropy(preds, labels, reduction="none")
    total = (weights[labels] * (1 - torch.exp(-surprisals)) ** self.gamma * surprisals).sum()
    return (total / max(len(labels), 1) if self.size_average else total).to(dtype)
