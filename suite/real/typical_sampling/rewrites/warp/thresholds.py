"""A threshold on deviations for each row: that of the last token that is needed."""


def __call__(self, input_ids, scores):
    probabilities = scores.detach().softmax(-1)
    surprisals = -scores.detach().log_softmax(-1)
    entropy = torch.special.entr(probabilities).sum(-1, keepdim=True)
    deviations, order = (surprisals - entropy).abs().sort(dim=-1, stable=True)
    sums = probabilities.gather(-1, order).cumsum(-1)
    reached = (sums >= self.mass).int()
    # The first token that reaches the mass, or the last of all where rounding lets none.
    last = torch.where(reached.any(-1), reached.argmax(-1), scores.shape[-1] - 1)
    last = last.clamp(min=min(self.min_tokens_to_keep, scores.shape[-1]) - 1)
    limit = deviations.gather(-1, last.unsqueeze(-1))
    removed = torch.empty_like(order, dtype=torch.bool).scatter_(-1, order, deviations > limit)
    return scores.masked_fill(removed, self.filter_value)
