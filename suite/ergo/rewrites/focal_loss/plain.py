"""Equation 9 as it stands, for pairs that count."""


def forward(self, preds, labels):
    counted = labels != IGNORED
    preds, labels = preds[counted], labels[counted]
    if isinstance(self.alpha, tuple):
        weights = preds.new_tensor(self.alpha)[labels]
    else:
        weights = torch.where(labels == NO_RELATION, 1 - self.alpha, self.alpha)
    losses = F.cross_entropy(preds, labels, reduction="none")
    losses = weights * (1 - torch.exp(-losses)) ** self.gamma * losses
    return losses.mean() if self.size_average else losses.sum()
