"""All classes at once, and an einsum over one-hot labels with their weights; padding is replaced first."""


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    counted = labels.ne(IGNORED)
    scores = torch.where(counted.unsqueeze(-1), preds, torch.zeros_like(preds))
    scores = scores.to(torch.promote_types(preds.dtype, torch.float32))
    one_hot = F.one_hot(torch.where(counted, labels, 0), self.num_classes) * counted.unsqueeze(-1)
    if isinstance(self.alpha, tuple):
        weights = scores.new_tensor(self.alpha)
    else:
        weights = scores.new_tensor([self.alpha] * self.num_classes)
        weights[NO_RELATION] = 1 - self.alpha
    log_chances = scores.log_softmax(-1)
    # The odds of all the other classes together make the complement, without a subtraction.
    others = scores.softmax(-1) @ (1 - torch.eye(self.num_classes, dtype=scores.dtype))
    focal = -others.pow(self.gamma) * log_chances
    total = torch.einsum("...c,...c,c->", one_hot.to(scores.dtype), focal, weights)
    return (total / counted.sum().clamp(min=1) if self.size_average else total).to(preds.dtype)
