"""The losses of all pairs, those of padding multiplied by 0."""


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    dtype, preds = preds.dtype, preds.to(torch.promote_types(preds.dtype, torch.float32))
    counted = labels != IGNORED
    kept = labels.masked_fill(~counted, NO_RELATION)
    if isinstance(self.alpha, float):
        weights = preds.new_full((self.num_classes,), self.alpha)
        weights[NO_RELATION] = 1 - self.alpha
    else:
        weights = preds.new_tensor(self.alpha)
    logps = F.log_softmax(preds, dim=-1).gather(-1, kept.unsqueeze(-1)).squeeze(-1)
    total = -(counted * weights[kept] * (1 - logps.exp()) ** self.gamma * logps).sum()
    return (total / counted.sum().clamp_min(1) if self.size_average else total).to(dtype)
