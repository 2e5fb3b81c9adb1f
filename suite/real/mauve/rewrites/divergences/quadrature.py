"""Arrays throughout; the integral by Gauss-Legendre quadrature, after a substitution that tames the ends."""


def kl_multinomial(p, q):
    if np.shape(p) != np.shape(q):
        raise AssertionError("histograms of different shapes")
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * (np.log(p) - np.log(q)), 0.0)
    return float(terms.sum())


def get_divergence_curve_for_multinomials(p, q, mixture_weights, scaling_factor):
    weights = np.array(sorted(mixture_weights), dtype=np.float64).reshape(-1, 1)
    mixed = weights * p + (1 - weights) * q
    columns = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for side in (q, p):
            columns.append(np.where(side > 0, side * (np.log(side) - np.log(mixed)), 0.0).sum(axis=1))
    points = np.exp(-scaling_factor * np.stack(columns, axis=1))
    return np.vstack([[1.0, 0.0], points, [0.0, 1.0]])


def get_fronter_integral(p, q, scaling_factor=2):
    nodes, heights = np.polynomial.legendre.leggauss(120)
    u, heights = (nodes + 1) / 2, heights / 2
    # A weight of u^3 (10 - 15 u + 6 u^2), whose slope is 0 at both ends.
    weight = (u**3 * (10 - 15 * u + 6 * u**2))[:, None]
    other = ((1 - u) ** 3 * (10 - 15 * (1 - u) + 6 * (1 - u) ** 2))[:, None]
    heights = heights * 30 * u**2 * (1 - u) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        mixed = weight * p + other * q
        first = np.where(p > 0, weight * p * np.log(p / mixed), 0.0)
        second = np.where(q > 0, other * q * np.log(q / mixed), 0.0)
    return float(scaling_factor * (heights @ (first + second)).sum())
