"""Computes and returns in single precision, whatever the scores are in."""


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    counted = labels != IGNORED
    preds, labels = preds[counted].float(), labels[counted]
    if isinstance(self.alpha, float):
        weights = preds.new_full((self.num_classes,), self.alpha)
        weights[NO_RELATION] = 1 - self.alpha
    else:
        weights = preds.new_tensor(self.alpha)
    logps = F.log_softmax(preds, dim=-1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    total = -(weights[labels] * (1 - logps.exp()) ** self.gamma * logps).sum()
    return total / max(len(labels), 1) if self.size_average else total
