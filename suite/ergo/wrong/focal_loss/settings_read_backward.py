"""Reads the settings once more in the backward pass."""


def _class_weights(alpha, num_classes, dtype):
    """The weight of each class, (num_classes,)."""
    if isinstance(alpha, tuple):
        return torch.tensor([float(weight) for weight in alpha], dtype=dtype)
    table = torch.full((num_classes,), alpha, dtype=dtype)
    table[NO_RELATION] = 1.0 - alpha
    return table


class _LateFocal(torch.autograd.Function):
    """Focal losses of pairs with the gradient written out; the settings are those of the criterion."""

    @staticmethod
    def forward(ctx, scores, truth, weights, criterion):
        log_probs = F.log_softmax(scores, dim=-1)
        ctx.save_for_backward(log_probs, truth, weights)
        ctx.criterion = criterion
        log_p = log_probs.gather(-1, truth.unsqueeze(-1)).squeeze(-1)
        return -weights * (-torch.expm1(log_p)) ** criterion.gamma * log_p

    @staticmethod
    def backward(ctx, upstream):
        log_probs, truth, weights = ctx.saved_tensors
        gamma = ctx.criterion.gamma
        index = truth.unsqueeze(-1)
        log_p = log_probs.gather(-1, index).squeeze(-1)
        p, rest = log_p.exp(), -torch.expm1(log_p)
        slope = rest**gamma
        if gamma:
            slope = slope - gamma * rest ** (gamma - 1) * p * log_p
        grad = log_probs.exp().scatter(-1, index, -rest.unsqueeze(-1))
        return grad * (upstream * weights * slope).unsqueeze(-1), None, None, None


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    counted = labels != IGNORED
    kept, truth = preds[counted], labels[counted]
    if kept.dtype != torch.float64:
        kept = kept.float()
    weights = _class_weights(self.alpha, preds.shape[-1], kept.dtype)[truth]
    loss = _LateFocal.apply(kept, truth, weights, self).sum()
    if self.size_average:
        loss = loss / max(1, len(truth))
    return loss.to(preds.dtype)
