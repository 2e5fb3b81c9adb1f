"""Divergences, curves and integrals: empty and equal bins, weights, constants; then whole scores, the experiment."""

import numpy as np

WEIGHTS = tuple(np.linspace(1e-6, 1 - 1e-6, 25).tolist())


def cases(seed):
    generator = np.random.default_rng(seed)

    def histogram(bins, empty=0.0, power=1.0):
        """At least one bin is filled, and each that is filled has more than 1e-6."""
        values = (0.01 + generator.random(bins)) ** power * (generator.random(bins) >= empty)
        if not values.any():
            values[generator.integers(bins)] = 1.0
        return values / values.sum()

    def pair(bins, empty=0.0, power=1.0):
        while True:
            p, q = histogram(bins, empty, power), histogram(bins, empty, power)
            filled = np.concatenate([p[p > 0], q[q > 0]])
            apart = np.abs(p - q)
            if filled.min() > 1e-6 and ((apart == 0) | (apart > 1e-6)).all():
                return p, q

    def case(name, pairs, weights=WEIGHTS, constant=5, factor=2, **more):
        pairs = [[np.array(p, dtype=float), np.array(q, dtype=float)] for p, q in pairs]
        return {"name": name, "pairs": pairs, "weights": list(weights), "constant": constant, "factor": factor, **more}

    yield case("a few bins", [pair(6), pair(11)])
    yield case("uneven bins", [pair(9, power=4), pair(30, power=3)])
    yield case("many bins", [pair(100), pair(300, empty=0.3)], weights=(0.3, 0.9))
    yield case("two bins", [pair(2), pair(2)])
    yield case("empty bins", [pair(12, empty=0.5) for _ in range(4)])
    share = generator.uniform(0.1, 0.9)
    yield case(
        "bins that the first leaves empty", [([0, share, 1 - share], [0.2, 0.3, 0.5]), ([1, 0], [share, 1 - share])]
    )
    yield case(
        "bins that the second leaves empty", [([0.2, 0.3, 0.5], [share, 0, 1 - share]), ([share, 1 - share], [0, 1])]
    )
    yield case("bins that both leave empty", [([0, share, 0, 1 - share], [0, 0.1, 0, 0.9])])
    yield case("nothing in common", [([share, 1 - share, 0, 0], [0, 0, 0.1, 0.9])], factor=1)
    # Two bins are the same in both.
    p, q = pair(6)
    p, q = p * (1 - share), q * (1 - share)
    yield case("some bins equal", [(np.append(p, [share / 3, share / 1.5]), np.append(q, [share / 3, share / 1.5]))])
    for size in (1e-5, 1e-3):
        p = 0.9 * histogram(6) + 0.1 / 6
        q = p + size * generator.permutation([1, -1, 1, -1, 0, 0])
        yield case(f"bins that differ by {size}", [(p, q)], factor=8)
    # The large bins are far apart, so that no difference of nearly equal numbers decides the case.
    small = [
        np.append(row, (1 - row.sum()) * np.array([first, 1 - first]))
        for row, first in zip(generator.uniform(1e-6, 9e-6, size=(2, 4)), (0.3, 0.6), strict=True)
    ]
    yield case("small bins", [small, (small[0], small[1][::-1])])
    p, q = pair(7, empty=0.3)
    yield case("exchanged", [(p, q), (q, p), (p[::-1], q[::-1])])

    p, q = pair(6, empty=0.2)
    yield case("weights in any order", [(p, q)], weights=generator.permutation(WEIGHTS))
    yield case("an array of weights in any order", [(p, q)], weights=generator.permutation(WEIGHTS), array=True)
    yield case("weights that fall", [(p, q)], weights=(0.9, 0.5, 0.1), constant=2)
    yield case("one weight", [(p, q), pair(5)], weights=(share,))
    yield case("weights of 0 and 1", [pair(4), pair(6, 0.5)], weights=(0.0, 1.0, 0.5), constant=0.5)
    yield case("small and large weights", [(p, q), pair(8, 0.4)], weights=(1e-6, 1 - 1e-6, 2e-6, 0.2))
    yield case("100 weights", [(p, q)], weights=generator.random(100), constant=1)
    for constant, factor in ((0.1, 1), (1, 0.5), (2.5, 3), (30, 10)):
        yield case(
            f"a constant of {constant} and a factor of {factor}",
            [pair(6, 0.2), pair(5)],
            constant=constant,
            factor=factor,
        )
    yield {"name": "divergences", "divergences": [[*pair(size, 0.2)] for size in (3, 10, 40, 100)]}
    tiny = 10.0 ** generator.uniform([-9, -8, -7], [-8.3, -7, -5], size=(2, 3))
    first, second = (np.append(row, 1 - row.sum()) for row in tiny)
    even = np.full(4, 0.25)
    yield {"name": "divergences of tiny entries", "divergences": [[first, second], [first, even], [even, second]]}
    frequencies = [1 / np.arange(1.0, 7), np.r_[np.zeros(2), np.ones(4)]]
    drawn = [generator.choice(6, size=40, p=item / item.sum()) for item in frequencies]
    yield {"name": "features", "features": [9 * np.eye(6)[item] + 0.01 * generator.random((40, 6)) for item in drawn]}
    yield {"name": "experiment", "seed": seed % 1000}

    yield case("one bin", [([1], [1])]) | {"edge": True}
    p = histogram(8)
    yield case("equal", [(p, p), (p, np.nextafter(p, 1))], factor=3) | {"edge": True}
    yield case("no weights", [pair(6)], weights=()) | {"edge": True}
    yield case("equal weights", [pair(6)], weights=(0.4, 0.7, 0.4, 0.4, 0.7)) | {"edge": True}
    yield case("weights of 0 and 1 alone", [pair(6, 0.5)], weights=(1.0, 0.0)) | {"edge": True}
    yield case("unchanged arguments", [pair(6)], weights=(0.7, 0.2, 0.4), array=True, again=True) | {"edge": True}
    yield {"name": "shapes that differ", "refused": [[p, histogram(3)], [p, np.ones(1)]], "edge": True}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from mauve import compute_mauve
    from mauve.compute_mauve import get_divergence_curve_for_multinomials, get_fronter_integral, kl_multinomial

    if "divergences" in case:
        return {"divergences": [float(kl_multinomial(*pair)) for pair in case["divergences"]]}
    if "refused" in case:
        refused = []
        for pair in case["refused"]:
            try:
                kl_multinomial(*pair)
                refused.append(False)
            except AssertionError:
                refused.append(True)
        return {"refused": refused}
    if "features" in case:
        scores = compute_mauve(*case["features"], num_buckets=6, kmeans_num_redo=1, mauve_scaling_factor=4)
        return {"scores": {name: np.asarray(item).tolist() for name, item in vars(scores).items()}}
    weights = np.array(case["weights"]) if case.get("array") else list(case["weights"])
    divergences, curves, integrals = [], [], []
    for p, q in case["pairs"]:
        p, q = p.copy(), q.copy()
        divergences += [float(kl_multinomial(p, q)), float(kl_multinomial(q, p))]
        curves.append(np.array(get_divergence_curve_for_multinomials(p, q, weights, case["constant"])))
        integrals += [float(get_fronter_integral(p, q)), float(get_fronter_integral(p, q, case["factor"]))]
        if case.get("again"):
            same = [np.array_equal(p, case["pairs"][0][0]), np.array_equal(q, case["pairs"][0][1])]
            curves.append([*same, np.array_equal(weights, case["weights"])])
            integrals.append(float(get_fronter_integral(p, q, 3)))
            divergences.append(float(kl_multinomial(p, q)))
            # Another histogram in the same array.
            p[:] = p[::-1].copy()
            divergences.append(float(kl_multinomial(p, q)))
            integrals.append(float(get_fronter_integral(p, q, 3)))
            curves.append(np.array(get_divergence_curve_for_multinomials(p, q, weights, 2)))
    return {"divergences": divergences, "curves": curves, "integrals": integrals}
