"""Takes the probability of a causal relation for all pairs, also for the negative ones."""


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    dtype, counted = preds.dtype, labels != IGNORED
    preds, labels = preds[counted].to(torch.promote_types(dtype, torch.float32)), labels[counted]
    if isinstance(self.alpha, float):
        weights = preds.new_full((self.num_classes,), self.alpha)
        weights[NO_RELATION] = 1 - self.alpha
    else:
        weights = preds.new_tensor(self.alpha)
    logps = torch.logsumexp(F.log_softmax(preds, dim=-1)[:, NO_RELATION + 1 :], dim=-1)
    total = -(weights[labels] * (1 - logps.exp()) ** self.gamma * logps).sum()
    return (total / max(len(labels), 1) if self.size_average else total).to(dtype)
