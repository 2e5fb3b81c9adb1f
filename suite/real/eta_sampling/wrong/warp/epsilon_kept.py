"""Keeps what follows from epsilon as long as the tensor is the same object: wrong after it was changed in place."""

import weakref

import torch

_KNOWN = weakref.WeakKeyDictionary()


class EtaLogitsWarper:
    def __call__(self, input_ids, scores):
        logits = scores.detach().double()
        logits = logits - logits.amax(dim=-1, keepdim=True)
        weights = logits.exp()
        probabilities = weights / weights.sum(dim=-1, keepdim=True)
        entropy = torch.special.entr(probabilities).sum(dim=-1, keepdim=True)
        known = _KNOWN.get(self)
        if known is None or known[0] is not self.epsilon:
            epsilon = self.epsilon.detach().double().reshape(())
            known = _KNOWN[self] = (self.epsilon, epsilon, epsilon.sqrt())
        _, epsilon, alpha = known
        eta = torch.minimum(epsilon, alpha * torch.exp(-entropy))
        least = min(self.min_tokens_to_keep, scores.shape[-1])
        lowest = scores.detach().topk(least, dim=-1).values[..., -1:]
        keep = (probabilities >= eta) | (scores.detach() >= lowest)
        return torch.where(keep, scores, self.filter_value)
