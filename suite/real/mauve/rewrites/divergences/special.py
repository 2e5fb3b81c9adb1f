"""Relative entropies of scipy; the closed form as entropies of bins, all bins at once."""


def kl_multinomial(p, q):
    from scipy.special import rel_entr

    if p.shape != q.shape:
        raise AssertionError
    return float(rel_entr(p, q).sum())


def get_divergence_curve_for_multinomials(p, q, mixture_weights, scaling_factor):
    weights = np.unique(np.asarray(mixture_weights, dtype=float), return_counts=True)
    curve = np.zeros((len(mixture_weights) + 2, 2))
    curve[0, 0] = curve[-1, 1] = 1.0
    place = 1
    for weight, count in zip(*weights):
        mixed = q + weight * (p - q) if weight < 1 else p
        for _ in range(count):
            curve[place] = [np.exp(-scaling_factor * kl_multinomial(side, np.abs(mixed))) for side in (q, p)]
            place += 1
    return curve


def get_fronter_integral(p, q, scaling_factor=2):
    from scipy.special import xlogy

    gap = np.abs(p - q) > 1e-12
    a, b = p[gap], q[gap]
    # The mean of r log r over all mixtures r, from the antiderivative r^2 / 2 log r - r^2 / 4.
    middle = ((xlogy(a * a, a) - xlogy(b * b, b)) / 2 - (a * a - b * b) / 4) / (a - b)
    total = ((xlogy(a, a) + xlogy(b, b)) / 2 - middle).sum()
    return float(scaling_factor * total)
