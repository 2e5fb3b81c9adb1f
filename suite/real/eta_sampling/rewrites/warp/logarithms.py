"""Compares logarithms, and finds the least number of tokens by rank."""

import math as plain_math


def __call__(self, input_ids, scores):
    logps = scores.detach().double().log_softmax(-1)
    entropy = -(logps.exp() * logps.nan_to_num(neginf=0.0)).sum(-1, keepdim=True)
    bound = plain_math.log(self.epsilon.item())
    kept = logps >= torch.clamp(0.5 * bound - entropy, max=bound)
    higher = (scores.detach().unsqueeze(-2) > scores.detach().unsqueeze(-1)).sum(-1)
    return torch.where(kept | (higher < self.min_tokens_to_keep), scores, self.filter_value)
