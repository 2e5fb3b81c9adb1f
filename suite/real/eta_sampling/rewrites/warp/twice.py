"""Removes what is below both thresholds, in two steps, from tokens in order of their scores."""


def __call__(self, input_ids, scores):
    ranked, order = scores.detach().sort(dim=-1, descending=True)
    probabilities = ranked.softmax(-1)
    entropy = torch.special.entr(probabilities).sum(-1, keepdim=True)
    removed = probabilities < self.epsilon
    removed &= probabilities / self.epsilon.sqrt() < torch.exp(-entropy)
    last = min(self.min_tokens_to_keep, scores.shape[-1]) - 1
    removed &= ranked != ranked[:, last : last + 1]
    removed[:, : last + 1] = False
    removed = torch.zeros_like(removed).scatter_(-1, order, removed)
    return scores.clone().masked_fill_(removed, self.filter_value)
