"""pca_directions: what the directions are, their order and number, and the means that are kept; then the experiment."""

from itertools import product

import numpy as np


def cases(seed):
    generator = np.random.default_rng(seed)

    def integer(low, high):
        return int(generator.integers(low, high + 1))

    def states(rows, width, dtype=np.float64, scale=1.0, far=3.0):
        """Rows away from the origin, whose deviations along hidden axes are well apart."""
        axes = np.linalg.qr(generator.normal(size=(width, width)))[0]
        spread = np.concatenate([0.2 * 2.0 ** np.arange(6, 0, -1), np.full(width, 0.02)])[:width]
        values = generator.normal(size=(rows, width))
        values -= values.mean(axis=0)
        if rows > width + 1:
            # Whitened, so that the deviations of the sample are as far apart as the spread is.
            values = values @ np.linalg.inv(np.linalg.cholesky(np.cov(values.T, ddof=1).reshape(width, width)).T)
        return (scale * (far * generator.normal(size=width) + (values * spread) @ axes.T)).astype(dtype)

    def case(name, layers, count, asked=None, **options):
        asked = list(layers) if asked is None else asked
        return {"name": name, "hidden_states": layers, "n_components": count, "hidden_layers": asked, **options}

    every = product((np.float64, np.float32), ("one layer", "all layers", "some layers"), (1, 2, 4))
    for number, (dtype, kind, count) in enumerate(every):
        names = [int(layer) for layer in generator.choice(np.arange(-12, 12), 1 if kind == "one layer" else 4, False)]
        # More vectors than columns, as for a small model, or fewer, as for a large one.
        wide = number % 2
        sizes = [(integer(24, 40), integer(42, 64)) if wide else (integer(30, 128), integer(6, 24)) for _ in names]
        layers = {layer: states(*size, dtype) for layer, size in zip(names, sizes, strict=True)}
        asked = (names[2], names[0]) if kind == "some layers" else names[::-1]
        shape = "fewer vectors than columns" if wide else "more vectors than columns"
        yield case(f"{np.dtype(dtype)}, {kind}, directions: {count}, {shape}", layers, count, asked)
    yield {"name": "experiment", "seed": seed % 1000}

    few = {1: states(3, 6), 0: states(30, 6), 2: states(2, 9)}
    yield case("few vectors in some layers", few, 5, determined={1: 2, 2: 1}, edge=True)
    narrow = {0: states(30, 2), 1: states(30, 1), 2: states(30, 5)}
    yield case("narrow vectors in some layers", narrow, 4, determined={0: 2, 1: 1}, edge=True)
    twice = {0: np.repeat(states(2, 7), 2, axis=0), 1: np.tile(states(3, 5), (4, 1))}
    yield case("equal vectors", twice, 3, determined={0: 1, 1: 2}, edge=True)
    whole = generator.integers(-9, 10, size=(12, 5)).astype(np.float64)
    centre = generator.integers(-9, 10, size=5)
    yield case("a vector at the mean", {0: np.concatenate([whole, -whole, 0 * whole[:1]]) + centre}, 3, edge=True)
    layers, earlier = {1: states(30, 6), 0: states(40, 6)}, {0: states(3, 6), 1: states(30, 6)}
    yield case("no layers asked for", {0: states(30, 6)}, integer(1, 4), [], edge=True)
    yield case("used before", layers, integer(3, 5), [0], earlier=earlier, edge=True)
    for scale in (1e-10, 1e10):
        layers = {0: states(30, 6, scale=scale), 1: states(30, 6, np.float32, scale)}
        yield case(f"of size {scale}", layers, 3, scale=scale, edge=True)
    yield case("far from the origin", {0: states(40, 6, far=1e4)}, 3, edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    from repe.rep_readers import PCARepReader

    earlier = case.get("earlier", {})
    reader = PCARepReader(n_components=1 if earlier else case["n_components"])
    if earlier:
        reader.get_rep_directions(None, None, earlier, list(earlier))
        reader.n_components = case["n_components"]
    given = {layer: values.copy() for layer, values in case["hidden_states"].items()}
    asked = list(case["hidden_layers"])
    found = reader.get_rep_directions(None, None, given, asked)
    observed = {
        "layers": sorted(found),
        "unchanged": all(np.array_equal(given[layer], values) for layer, values in case["hidden_states"].items()),
        "asked": asked,
        "n_components": reader.n_components,
        "means": sorted(reader.H_train_means),
        "orthonormal": all(np.allclose(rows @ rows.T, np.eye(len(rows)), atol=1e-4) for rows in found.values()),
        "float64": {},
        "float32": {},
    }
    for layer in {*case["hidden_layers"], *earlier}:
        of_layer = {"mean": reader.H_train_means[layer] / case.get("scale", 1.0)}
        if layer in found:
            # A direction and its negative have the same outer product.
            determined = found[layer][: case.get("determined", {}).get(layer)]
            of_layer["directions"] = np.einsum("ri,rj->rij", determined, determined)
        observed[str(given[layer].dtype)][str(layer)] = of_layer
    return observed
