"""Log-probabilities gathered from a log-softmax, and weights chosen by a mask."""


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    flat_labels = labels.flatten()
    keep = torch.nonzero(flat_labels != IGNORED).flatten()
    flat_labels = flat_labels[keep]
    log_chances = torch.log_softmax(preds.flatten(0, -2)[keep], dim=1)
    logps = torch.gather(log_chances, 1, flat_labels[:, None])[:, 0]
    if isinstance(self.alpha, float):
        alpha = torch.where(flat_labels == NO_RELATION, 1 - self.alpha, self.alpha)
    else:
        alpha = torch.tensor(self.alpha)[flat_labels]
    losses = -alpha.to(preds.dtype) * torch.pow(1 - torch.exp(logps), self.gamma) * logps
    if not self.size_average:
        return losses.sum()
    return losses.mean() if losses.numel() else losses.sum()
