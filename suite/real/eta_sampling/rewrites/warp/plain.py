"""The paper's threshold, and the highest scores besides."""


def __call__(self, input_ids, scores):
    probabilities = scores.softmax(-1)
    entropy = -torch.xlogy(probabilities, probabilities).sum(-1, keepdim=True)
    eta = torch.minimum(self.epsilon, self.epsilon.sqrt() * torch.exp(-entropy))
    keep = probabilities >= eta
    highest = scores.topk(min(self.min_tokens_to_keep, scores.shape[-1])).indices
    return torch.where(keep.scatter(-1, highest, True), scores, self.filter_value)
