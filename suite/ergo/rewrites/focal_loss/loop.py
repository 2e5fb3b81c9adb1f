"""One pair at a time, with the log-probability as a log-sum-exp of differences of scores."""


def forward(self, preds, labels):
    rows = preds.reshape(-1, self.num_classes)
    if preds.dtype.itemsize < 4:
        rows = rows.float()
    # An empty sum still hangs on the scores.
    total = rows[:0].sum()
    count = 0
    for row, label in zip(rows, labels.flatten().tolist()):
        if label == IGNORED:
            continue
        if isinstance(self.alpha, tuple):
            weight = self.alpha[label]
        else:
            weight = 1 - self.alpha if label == NO_RELATION else self.alpha
        logp = -torch.logsumexp(row - row[label], 0)
        total = total - weight * torch.pow(-torch.expm1(logp), self.gamma) * logp
        count += 1
    if self.size_average and count:
        total = total / count
    return total.to(preds.dtype)
