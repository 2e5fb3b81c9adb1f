"""The complement as the sum of the other classes' probabilities, on the batch as it is, with padding masked out."""


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    counted = (labels != IGNORED).unsqueeze(-1)
    truth = labels.unsqueeze(-1).masked_fill(~counted, NO_RELATION)
    wide = preds if preds.dtype == torch.float64 else preds.float()
    logps = torch.where(counted, wide, 0.0).log_softmax(dim=-1)
    true = torch.zeros_like(wide, dtype=torch.bool).scatter(-1, truth, True)
    others = logps.exp().masked_fill(true, 0.0).sum(dim=-1, keepdim=True)
    alphas = self.alpha if isinstance(self.alpha, tuple) else [self.alpha] * self.num_classes
    if not isinstance(self.alpha, tuple):
        alphas[NO_RELATION] = 1 - self.alpha
    losses = -torch.tensor(alphas, dtype=wide.dtype)[truth] * others**self.gamma * logps.gather(-1, truth)
    total = losses[counted].sum()
    return (total / counted.sum().clamp(min=1) if self.size_average else total).to(preds.dtype)
