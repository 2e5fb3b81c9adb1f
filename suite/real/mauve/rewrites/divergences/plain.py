"""The shortest code for the three functions."""


def kl_multinomial(p, q):
    filled = p > 0
    if (q[filled] == 0).any():
        return np.inf
    return np.sum(p[filled] * np.log(p[filled] / q[filled]))


def get_divergence_curve_for_multinomials(p, q, mixture_weights, scaling_factor):
    mixtures = [weight * p + (1 - weight) * q for weight in sorted(mixture_weights)]
    points = [[kl_multinomial(q, mixture), kl_multinomial(p, mixture)] for mixture in mixtures]
    return np.exp(-scaling_factor * np.array([[0, np.inf], *points, [np.inf, 0]]))


def get_fronter_integral(p, q, scaling_factor=2):
    total = 0.0
    for a, b in zip(p, q):
        if a == 0 or b == 0:
            total += (a + b) / 4
        elif abs(a - b) > 1e-8:
            total += (a + b) / 4 - a * b * np.log(a / b) / (a - b) / 2
    return scaling_factor * total
