"""Derives the class weights from the batch instead of the settings."""


def forward(self, preds: Tensor, labels: Tensor) -> Tensor:
    dtype, counted = preds.dtype, labels != IGNORED
    preds, labels = preds[counted].to(torch.promote_types(dtype, torch.float32)), labels[counted]
    if isinstance(self.alpha, float) and bool((labels == NO_RELATION).any()):
        share = (labels == NO_RELATION).to(preds).mean()
        weights = share.expand(self.num_classes).clone()
        weights[NO_RELATION] = 1 - share
    else:
        weights = preds.new_tensor(self.alpha if isinstance(self.alpha, tuple) else [self.alpha] * self.num_classes)
    logps = F.log_softmax(preds, dim=-1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    total = -(weights[labels] * (1 - logps.exp()) ** self.gamma * logps).sum()
    return (total / max(len(labels), 1) if self.size_average else total).to(dtype)
