"""Row by row, in plain Python."""

import math as plain_math


def _typical(row, mass, least):
    top = max(row)
    weights = [plain_math.exp(value - top) for value in row]
    total = sum(weights)
    surprisals = [plain_math.log(total) + top - value for value in row]
    probabilities = [weight / total for weight in weights]
    entropy = sum(p * s for p, s in zip(probabilities, surprisals) if p)
    deviations = [abs(s - entropy) for s in surprisals]
    order = sorted(range(len(row)), key=lambda token: deviations[token])
    kept, held = set(order[:least]), 0.0
    for token in order:
        kept.add(token)
        held += probabilities[token]
        if held >= mass:
            kept.update(other for other in order if deviations[other] == deviations[token])
            break
    return kept


def __call__(self, input_ids, scores):
    keep = torch.zeros_like(scores, dtype=torch.bool)
    for number, row in enumerate(scores.tolist()):
        keep[number, list(_typical(row, self.mass, self.min_tokens_to_keep))] = True
    return scores.masked_fill(~keep, self.filter_value)
