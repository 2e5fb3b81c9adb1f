"""Without sorting: what a token has before it is the sum over those that are more typical."""


def __call__(self, input_ids, scores):
    logps = scores.detach().double().log_softmax(-1)
    probabilities = logps.exp()
    entropy = -torch.where(probabilities > 0, logps * probabilities, 0).sum(-1, keepdim=True)
    deviations = (logps + entropy).abs()
    nearer = deviations.unsqueeze(-2) < deviations.unsqueeze(-1)
    before = (nearer * probabilities.unsqueeze(-2)).sum(-1)
    kept = (before < self.mass) | (nearer.sum(-1) < self.min_tokens_to_keep)
    return torch.where(kept, scores, self.filter_value)
