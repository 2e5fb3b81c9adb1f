"""Row by row, in plain Python."""

import math as plain_math


def _kept(row, epsilon, least):
    top = max(row)
    weights = [plain_math.exp(value - top) for value in row]
    total = plain_math.fsum(weights)
    probabilities = [weight / total for weight in weights]
    entropy = -plain_math.fsum(p * plain_math.log(p) for p in probabilities if p)
    threshold = min(epsilon, plain_math.sqrt(epsilon) * plain_math.exp(-entropy))
    lowest = sorted(row, reverse=True)[: min(least, len(row))][-1]
    return [p >= threshold or value >= lowest for p, value in zip(probabilities, row)]


def __call__(self, input_ids, scores):
    keep = [_kept(row, float(self.epsilon), self.min_tokens_to_keep) for row in scores.tolist()]
    keep = torch.tensor(keep, dtype=torch.bool).reshape(scores.shape)
    return scores.masked_fill(~keep, self.filter_value)
