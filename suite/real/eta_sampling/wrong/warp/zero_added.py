"""Adds zero to kept scores, so that -0.0 comes back as 0.0."""

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
        lowest = scores.detach().topk(least, dim=-1).values[..., -1:]
        keep = (probabilities >= eta) | (scores.detach() >= lowest)
        return torch.where(keep, scores + torch.zeros_like(scores), self.filter_value)
