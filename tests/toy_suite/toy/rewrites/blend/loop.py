"""Adds up in a loop, from the end."""


def blend(self, values):
    total = norm = 0.0
    for position in reversed(range(len(values))):
        total += weights(len(values))[position] * values[position]
        norm += position + 1
    return self.scale * total / norm if norm else 0.0
