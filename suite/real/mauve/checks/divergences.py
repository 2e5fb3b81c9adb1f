"""Divergences, curves and integrals: zeros, ties, layouts, weights, constants; then whole scores, the experiment."""

import numpy as np

DEFAULT_WEIGHTS = tuple(np.linspace(1e-6, 1 - 1e-6, 25).tolist())


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

    def case(name, pairs, weights=DEFAULT_WEIGHTS, constants=(5,), factors=(2,), **more):
        return {
            "name": name,
            "pairs": [[np.array(p, dtype=float), np.array(q, dtype=float)] for p, q in pairs],
            "weights": list(weights),
            "kind": "list",
            "constants": list(constants),
            "factors": list(factors),
            "layout": "plain",
            **more,
        }

    yield case("a few bins", [pair(6), pair(11)])
    yield case("uneven bins", [pair(9, power=4), pair(30, power=3)])
    yield case("many bins", [pair(500), pair(2000, empty=0.3)], weights=(0.3, 0.9))
    yield case("one bin", [([1], [1])], factors=(2, 7))
    yield case("two bins", [pair(2), ([0.25, 0.75], [0.75, 0.25])])
    yield case("empty bins", [pair(12, empty=0.5) for _ in range(4)])
    yield case("bins that the first leaves empty", [([0, 0.5, 0.5], [0.2, 0.3, 0.5]), ([1, 0, 0], [0.2, 0.3, 0.5])])
    yield case("bins that the second leaves empty", [([0.2, 0.3, 0.5], [0.6, 0, 0.4]), ([0.2, 0.3, 0.5], [0, 1, 0])])
    yield case("bins that both leave empty", [([0, 0.4, 0, 0.6], [0, 0.1, 0, 0.9]), ([0, 1], [0, 1])])
    yield case("nothing in common", [([0.5, 0.5, 0, 0], [0, 0, 0.1, 0.9]), ([1, 0], [0, 1])], factors=(2, 1, 0.5))
    p, _ = pair(8)
    yield case("equal", [(p, p), (p, p.copy()), (histogram(5, 0.6),) * 2])
    yield case("equal but for rounding", [(p, p * (1 + 2**-52)), (p, np.nextafter(p, 1)), (np.nextafter(p, 0), p)])
    p, q = pair(10)
    q[:4] = p[:4]
    yield case("some bins equal", [(p / p.sum(), q / q.sum()), ([0.2, 0.3, 0.1, 0.4], [0.2, 0.3, 0.4, 0.1])])
    shift = np.array([1, -1, 0, 0, 1, -1])
    for size in (2e-6, 1e-5, 1e-4, 1e-3, 1e-2):
        p = np.array([0.2, 0.05, 0.3, 0.15, 0.02, 0.28])
        yield case(f"bins that differ by {size}", [(p, p + size * shift), (p + size * shift, p)], factors=(10, 2))
    small = np.array([3e-6, 1.2e-6, 9e-6, 0.0])
    yield case(
        "small bins",
        [
            (np.append(small, 1 - small.sum()), np.append(small[::-1], 1 - small.sum())),
            (np.append(2 * np.arange(1, 400) * 1e-06, 1 - 0.1596), np.append(np.full(399, 5e-06), 1 - 399 * 5e-06)),
        ],
    )
    # The same bins in another order, and both histograms exchanged.
    p, q = pair(7, empty=0.3)
    yield case("exchanged", [(p, q), (q, p), (p[::-1], q[::-1])])

    p, q = pair(6, empty=0.2)
    shuffled = generator.permutation(DEFAULT_WEIGHTS)
    for kind in ("list", "tuple", "array", "strided", "locked"):
        yield case(f"weights in any order, as {kind}", [(p, q)], weights=shuffled, kind=kind)
    yield case("weights that fall", [(p, q)], weights=(0.9, 0.5, 0.1), kind="array")
    yield case("no weights", [(p, q)], weights=())
    yield case("no weights in an array", [(p, q)], weights=(), kind="array")
    yield case("one weight", [(p, q), pair(5)], weights=(0.5,))
    yield case("one weight far off", [(p, q)], weights=(0.03,))
    yield case("equal weights", [(p, q)], weights=(0.4, 0.7, 0.4, 0.4, 0.7))
    yield case("both ends", [(p, q), pair(4), pair(6, 0.5), ([1, 0], [0, 1])], weights=(0.0, 1.0, 0.5))
    yield case("both ends alone", [([0.5, 0.5, 0], [0, 0.5, 0.5]), pair(4)], weights=(1.0, 0.0), kind="array")
    yield case("both ends, a small constant", [([0.5, 0.5, 0], [0, 0.5, 0.5])], weights=(0, 1), constants=(0.05, 5))
    yield case("whole numbers as weights", [(p, q)], weights=(1, 0, 1))
    yield case("small and large weights", [(p, q)], weights=(1e-6, 1 - 1e-6, 2e-6, 0.2))
    least = [1.2e-6, 0.0, 1 - 1.2e-6], [0.0, 1.2e-6, 1 - 1.2e-6]
    yield case("the smallest entries of mixtures", [least], weights=(1e-6, 1 - 1e-6), constants=(5, 100))
    uneven = [1.2e-6, 0.99, 0.01 - 1.2e-6], [0.99, 1.2e-6, 0.01 - 1.2e-6]
    yield case("entries of a bin that are far apart", [uneven], factors=(10, -10))
    ends = [1e-6, 1 - 1e-6], [9e-6, 1 - 9e-6]
    yield case("entries of 1e-6", [ends, ([1e-6, 1 - 1e-6], [0.5, 0.5])], factors=(10, 1))
    # Of the first coordinate nothing is left, so that the weights alone tell the order.
    yield case("mixtures that are told by their weights", [([1, 0], [0, 1])], (0.99999, 0.9999), constants=(100,))
    yield case("500 weights", [(p, q)], weights=generator.random(500), kind="array")
    yield case("constants", [(p, q), pair(5)], constants=(1, 0.01, 2.5, 5, 30, 100))
    yield case("factors", [(p, q), pair(5)], factors=(1, 0.5, 3, -2, 10, 0, -10.0))
    for layout in ("strided", "backwards", "column", "locked"):
        yield case(f"histograms that are {layout}", [pair(6), pair(9, 0.4)], layout=layout)

    # Divergences alone, of what is tiny or almost equal.
    tiny = np.array([1e-12, 3e-9, 2e-7])
    # Each bin but one is larger by 1.5e-11 on one side, which is 3e-8 together.
    close = np.full(2000, 4e-4)
    close[0] = 1 - close[1:].sum()
    closer = close + 1.5e-11
    closer[0] = 1 - closer[1:].sum()
    small, smaller = np.full(900, 2e-8), np.full(900, 1e-8)
    small[0], smaller[0] = 1 - small[1:].sum(), 1 - smaller[1:].sum()
    yield {
        "name": "divergences",
        "divergences": [
            [np.append(tiny, 1 - tiny.sum()), np.append(tiny[::-1], 1 - tiny.sum())],
            [np.append(tiny, 1 - tiny.sum()), np.array([0.25, 0.25, 0.25, 0.25])],
            [np.array([0.25, 0.25, 0.25, 0.25]), np.append(tiny, 1 - tiny.sum())],
            [np.array([1e-12, 1 - 1e-12]), np.array([0.0, 1.0])],
            [np.array([0.0, 1.0]), np.array([1e-12, 1 - 1e-12])],
            [np.array([0.5, 0.5]), np.array([0.5 + 1e-9, 0.5 - 1e-9])],
            [np.array([0.0, 1.0]), np.array([1.0, 0.0])],
            [np.array([0.0, 0.0, 1.0]), np.array([0.5, 0.0, 0.5])],
            [np.array([0.5, 0.0, 0.5]), np.array([0.0, 0.0, 1.0])],
            [close, closer],
            [closer, close],
            [small, smaller],
            [smaller, small],
            [np.array([1e-10, 1 - 1e-10]), np.array([0.0, 1.0])],
            list(pair(40, 0.2)),
            list(pair(2000)),
            [np.array([1.0]), np.array([1.0])],
        ],
    }
    whole = histogram(4)
    yield {
        "name": "shapes that differ",
        "refused": [[whole, histogram(3)], [whole, np.ones(1)], [np.ones(1), whole], [whole, whole[:, None]]],
    }
    frequencies = [1 / np.arange(1.0, 9), np.r_[np.zeros(3), np.ones(5)]]
    drawn = [generator.choice(8, size=80, p=item / item.sum()) for item in frequencies]
    yield {
        "name": "features",
        "features": [9 * np.eye(8)[item] + 0.01 * generator.standard_normal((80, 8)) for item in drawn],
    }
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from mauve import compute_mauve
    from mauve.compute_mauve import get_divergence_curve_for_multinomials, get_fronter_integral, kl_multinomial

    if "divergences" in case:
        found = [kl_multinomial(*pair) for pair in case["divergences"]]
        return {"divergences": [float(item) for item in found], "kinds": [isinstance(item, float) for item in found]}
    if "refused" in case:
        refused = []
        for pair in case["refused"]:
            try:
                kl_multinomial(*pair)
                refused.append("nothing is raised")
            except Exception as error:
                refused.append(isinstance(error, AssertionError))
        return {"refused": refused}
    if "features" in case:
        results = []
        for constant, points in ((5, 25), (1, 4), (5, 25)):
            scores = compute_mauve(
                *case["features"],
                num_buckets=8,
                mauve_scaling_factor=constant,
                divergence_curve_discretization_size=points,
            )
            results.append({name: np.asarray(item).tolist() for name, item in vars(scores).items()})
        return {"scores": results}

    pairs = [[_laid_out(item, case["layout"]) for item in pair] for pair in case["pairs"]]
    weights = _weights(case["weights"], case["kind"])
    before = [[item.copy() for item in pair] for pair in pairs], np.array(weights)
    divergences, curves, integrals, kinds = [], [], [], []
    settings = np.geterr()
    for pair in pairs:
        for p, q in (pair, pair[::-1]):
            divergences.append(kl_multinomial(p, q))
        for constant in case["constants"]:
            curve = get_divergence_curve_for_multinomials(*pair, weights, constant)
            kinds.append([type(curve).__name__, str(curve.dtype), list(curve.shape)])
            curves.append(np.array(curve))
        for factor in case["factors"]:
            integrals.append(get_fronter_integral(*pair, factor))
        integrals.append(get_fronter_integral(*pair))
        integrals.append(get_fronter_integral(*pair, scaling_factor=3))
        # Once more, where the array of the first curve has been written over.
        curve[:] = 7.0
        curves.append(get_divergence_curve_for_multinomials(*pair, weights, case["constants"][0]))
    same = all(
        np.array_equal(item, kept)
        for pair, old in zip(pairs, before[0], strict=True)
        for item, kept in zip(pair, old, strict=True)
    )
    # The same arrays, with other numbers in them, in calls that follow each other.
    refilled = []
    functions = [
        kl_multinomial,
        lambda p, q: get_divergence_curve_for_multinomials(p, q, weights, case["constants"][0]),
        get_fronter_integral,
    ]
    for (p, q), old in zip(pairs, before[0], strict=True):
        if p.flags.writeable:
            for function in functions:
                p[:] = old[0]
                found = [np.array(function(p, q))]
                p[:] = q
                refilled.append([*found, np.array(function(p, q))])
    return {
        "refilled": refilled,
        "divergences": [float(item) for item in divergences],
        "curves": curves,
        "integrals": [float(item) for item in integrals],
        "kinds": kinds,
        "floats": [isinstance(item, float) for item in divergences + integrals],
        "settings unchanged": np.geterr() == settings,
        "histograms unchanged": same,
        "weights unchanged": np.array_equal(np.array(weights), before[1]) and type(weights).__name__,
    }


def _weights(values, kind):
    if kind == "list":
        return list(values)
    if kind == "tuple":
        return tuple(values)
    array = np.array(values, dtype=float)
    if kind == "strided":
        array = np.repeat(array, 2)[::2]
    if kind == "locked":
        array.flags.writeable = False
    return array


def _laid_out(item, layout):
    if layout == "strided":
        return np.repeat(item, 3)[::3]
    if layout == "backwards":
        return item[::-1].copy()[::-1]
    if layout == "column":
        return np.stack([item, item + 1], axis=1)[:, 0]
    if layout == "locked":
        item = item.copy()
        item.flags.writeable = False
    return item
