"""Looks for the highest scores among logarithms of probabilities, where rounding makes some equal."""

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
        ranked = scores.detach().log_softmax(dim=-1)
        lowest = ranked.topk(least, dim=-1).values[..., -1:]
        keep = (probabilities >= eta) | (ranked >= lowest)
        return torch.where(keep, scores, self.filter_value)
