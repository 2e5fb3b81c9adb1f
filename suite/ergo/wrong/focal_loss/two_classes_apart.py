"""Edge: Treats two classes apart, by a function whose logarithm ends at -100."""


def _class_weights(alpha, num_classes, dtype):
    """The weight of each class, (num_classes,)."""
    if isinstance(alpha, tuple):
        return torch.tensor([float(weight) for weight in alpha], dtype=dtype)
    table = torch.full((num_classes,), alpha, dtype=dtype)
    table[NO_RELATION] = 1.0 - alpha
    return table


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    counted = labels != IGNORED
    kept, truth = preds[counted], labels[counted]
    if preds.shape[-1] == 2:
        chance = torch.sigmoid(kept[:, 1] - kept[:, 0])
        nll = F.binary_cross_entropy(chance, truth.to(preds.dtype), reduction="none")
        p = torch.where(truth == 1, chance, 1 - chance)
    else:
        log_p = F.log_softmax(kept, dim=-1).gather(-1, truth.unsqueeze(-1)).squeeze(-1)
        nll, p = -log_p, log_p.exp()
    weights = _class_weights(self.alpha, preds.shape[-1], preds.dtype)[truth]
    loss = (weights * (1 - p) ** self.gamma * nll).sum()
    return loss / max(1, len(truth)) if self.size_average else loss
