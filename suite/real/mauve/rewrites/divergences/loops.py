"""Loops over bins with Python's numbers and exact sums; near ties of the integral by a series."""

import math


def kl_multinomial(p, q):
    if p.shape != q.shape:
        raise AssertionError(f"{p.shape} is not {q.shape}")
    terms = []
    for a, b in zip(p.tolist(), q.tolist()):
        if a == 0:
            continue
        if b == 0:
            return math.inf
        terms.append(a * (math.log(a) - math.log(b)))
    return math.fsum(terms)


def get_divergence_curve_for_multinomials(p, q, mixture_weights, scaling_factor):
    rows = [(1.0, 0.0)]
    for weight in sorted(float(item) for item in mixture_weights):
        mixed = np.array([weight * a + (1 - weight) * b for a, b in zip(p.tolist(), q.tolist())])
        rows.append(tuple(math.exp(-scaling_factor * kl_multinomial(side, mixed)) for side in (q, p)))
    rows.append((0.0, 1.0))
    return np.array(rows)


def get_fronter_integral(p, q, scaling_factor=2):
    terms = []
    for a, b in zip(p.tolist(), q.tolist()):
        low, high = sorted((a, b))
        if low == 0:
            terms.append(high / 4)
            continue
        x = (high - low) / (high + low)
        # With a mean m the bins are m (1 - x) and m (1 + x).
        mean = (high + low) / 2
        ratio = sum(x ** (2 * n) / (2 * n + 1) for n in range(8)) if x < 0.01 else math.atanh(x) / x
        # 1 - (1 - x^2) atanh(x) / x, without cancellation where x is small.
        rest = x * x * ratio - (ratio - 1 if x >= 1e-2 else sum(x ** (2 * n) / (2 * n + 1) for n in range(1, 8)))
        terms.append(mean / 2 * rest)
    return scaling_factor * math.fsum(terms)
