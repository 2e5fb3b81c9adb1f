"""Edge: Counts tokens with the same score as one of the `min_tokens_to_keep`."""

import torch


class TypicalLogitsWarper:
    def __call__(self, input_ids, scores):
        logits = scores.detach().double()
        logits = logits - logits.amax(dim=-1, keepdim=True)
        weights = logits.exp()
        total = weights.sum(dim=-1, keepdim=True)
        probabilities = weights / total
        entropy = torch.special.entr(probabilities).sum(dim=-1, keepdim=True)
        deviations = (entropy + (logits - total.log())).abs()
        ordered, places = deviations.sort(dim=-1, stable=True)
        sums = probabilities.gather(-1, places).cumsum(dim=-1)
        last = (sums < self.mass).sum(dim=-1, keepdim=True).clamp(max=scores.shape[-1] - 1)
        keep = deviations <= ordered.gather(-1, last)
        least = min(self.min_tokens_to_keep, scores.shape[-1])
        fresh = torch.ones_like(ordered, dtype=torch.long)
        fresh[..., 1:] = (ordered[..., 1:] > ordered[..., :-1]).long()
        keep = keep | torch.zeros_like(keep).scatter(-1, places, fresh.cumsum(dim=-1) <= least)
        return torch.where(keep, scores, self.filter_value)
