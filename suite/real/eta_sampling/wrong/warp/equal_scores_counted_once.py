"""Counts equal scores among the highest once."""

import torch


class EtaLogitsWarper:
    def __call__(self, input_ids, scores):
        logits = scores.detach().double()
        logits = logits - logits.amax(dim=-1, keepdim=True)
        weights = logits.exp()
        probabilities = weights / weights.sum(dim=-1, keepdim=True)
        entropy = torch.special.entr(probabilities).sum(dim=-1, keepdim=True)
        epsilon = self.epsilon.detach().double().reshape(())
        eta = torch.minimum(epsilon, epsilon.sqrt() * torch.exp(-entropy))
        least = min(self.min_tokens_to_keep, scores.shape[-1])
        levels = [row.unique().flip(0) for row in scores.detach()]
        lowest = torch.stack([level[min(least, len(level)) - 1] for level in levels]).unsqueeze(-1)
        keep = (probabilities >= eta) | (scores.detach() >= lowest)
        return torch.where(keep, scores, self.filter_value)
