"""Sums the sigmoid focal loss over all classes."""


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    dtype, counted = preds.dtype, labels != IGNORED
    preds, labels = preds[counted].to(torch.promote_types(dtype, torch.float32)), labels[counted]
    if isinstance(self.alpha, float):
        weights = preds.new_full((self.num_classes,), self.alpha)
        weights[NO_RELATION] = 1 - self.alpha
    else:
        weights = preds.new_tensor(self.alpha)
    signs = 2 * F.one_hot(labels, self.num_classes) - 1
    logps = F.logsigmoid(signs * preds)
    total = -(weights[labels].unsqueeze(-1) * (1 - logps.exp()) ** self.gamma * logps).sum()
    return (total / max(len(labels), 1) if self.size_average else total).to(dtype)
