"""Edge: Subtracts the greatest score of the batch, so the exponentials of other rows underflow."""

import torch


class TypicalLogitsWarper:
    def __call__(self, input_ids, scores):
        logits = scores.detach().double()
        logits = logits - (logits.amax() if logits.numel() else 0.0)
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
        keep = keep.scatter(-1, places[..., :least], True)
        return torch.where(keep, scores, self.filter_value)
