"""Forgets the scale."""


def blend(self, values):
    factors = weights(len(values))
    return sum(w * v for w, v in zip(factors, values)) / sum(factors) if values else 0.0
