"""Edge: Replaces NaN and infinity in the padding and multiplies its losses by 0: finite scores may overflow."""


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
    scores = preds.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
    log_p = F.log_softmax(scores, dim=-1).gather(-1, target.unsqueeze(-1)).squeeze(-1)
    weights = _class_weights(self.alpha, preds.shape[-1], preds.dtype)[target]
    losses = -weights * (1 - log_p.exp()) ** self.gamma * log_p * counted
    loss = losses.sum()
    return loss / counted.sum().clamp(min=1) if self.size_average else loss
