"""Log-probabilities gathered from a log-softmax in double precision, and weights chosen by a mask."""


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    flat_labels = labels.flatten()
    keep = torch.nonzero(flat_labels != IGNORED).flatten()
    flat_labels = flat_labels[keep]
    log_chances = torch.log_softmax(preds.flatten(0, -2)[keep], dim=1, dtype=torch.float64)
    logps = torch.gather(log_chances, 1, flat_labels[:, None])[:, 0]
    if isinstance(self.alpha, float):
        alpha = log_chances.new_full(flat_labels.shape, self.alpha)
        alpha[flat_labels == NO_RELATION] = 1 - self.alpha
    else:
        alpha = torch.tensor(self.alpha, dtype=torch.float64)[flat_labels]
    losses = -alpha * torch.pow(1 - torch.exp(logps), self.gamma) * logps
    if not self.size_average:
        return losses.sum().to(preds.dtype)
    return (losses.mean() if losses.numel() else losses.sum()).to(preds.dtype)
