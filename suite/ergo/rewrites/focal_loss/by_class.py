"""Class by class: the negatives' sum and the sum of each positive class, added up at the end."""


def _weight(alpha: float | tuple[float, ...], label: int) -> float:
    if isinstance(alpha, tuple):
        return alpha[label]
    return 1 - alpha if label == NO_RELATION else alpha


def _focal_sum(scores: Tensor, label: int, gamma: float) -> Tensor:
    logps = scores.log_softmax(-1).select(-1, label)
    return -((1 - logps.exp()).pow(gamma) * logps).sum()


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    half = preds.dtype in (torch.float16, torch.bfloat16)
    sums = []
    for label in range(self.num_classes):
        scores = preds[labels == label]
        sums.append(_focal_sum(scores.float() if half else scores, label, self.gamma) * _weight(self.alpha, label))
    total = torch.stack(sums).sum()
    if self.size_average:
        total = total / max(1, int(labels.ne(IGNORED).sum()))
    return total.type_as(preds)
