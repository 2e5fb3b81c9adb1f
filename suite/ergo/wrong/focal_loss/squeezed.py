"""Drops every dimension of one element, so that documents with one pair are broadcast against each other."""


def _class_weights(alpha, num_classes, dtype):
    """The weight of each class, (num_classes,)."""
    if isinstance(alpha, tuple):
        return torch.tensor([float(weight) for weight in alpha], dtype=dtype)
    table = torch.full((num_classes,), alpha, dtype=dtype)
    table[NO_RELATION] = 1.0 - alpha
    return table


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    counted = labels != IGNORED
    target = labels.masked_fill(~counted, NO_RELATION)
    wide = torch.promote_types(preds.dtype, torch.float32)
    scores = preds.to(wide).masked_fill(~counted.unsqueeze(-1), 0.0)
    log_p = F.log_softmax(scores, dim=-1).gather(-1, target.unsqueeze(-1)).squeeze()
    factor = (1 - log_p.exp()) ** self.gamma
    weights = _class_weights(self.alpha, preds.shape[-1], wide)[target] * counted
    loss = -(weights * factor * log_p).sum()
    if self.size_average:
        loss = loss / counted.sum().clamp(min=1)
    return loss.to(preds.dtype)
