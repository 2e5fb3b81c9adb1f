"""pca_directions: what the directions span, their order and number, the means that are kept; then the experiment."""

import numpy as np


def cases(seed):
    generator = np.random.default_rng(seed)

    def states(rows, width, dtype=np.float64, variances=None):
        """Rows whose variances along hidden axes are far apart, away from the origin."""
        axes = np.linalg.qr(generator.normal(size=(width, width)))[0]
        spread = 0.2 * 2.0 ** np.arange(min(width, 6), 0, -1) if variances is None else np.array(variances)
        spread = np.concatenate([spread, np.full(max(0, width - len(spread)), 0.02)])[:width]
        values = generator.normal(size=(rows, width))
        # Whitened, so that the sample's variances are as far apart as the spread is.
        values -= values.mean(axis=0)
        if rows > width + 1:
            values = values @ np.linalg.inv(np.linalg.cholesky(np.cov(values.T)).T)
        return (3 * generator.normal(size=width) + (values * spread) @ axes.T).astype(dtype)

    def case(name, layers, n_components=1, asked=None, **options):
        return {
            "name": name,
            "hidden_states": layers,
            "n_components": n_components,
            "hidden_layers": list(layers) if asked is None else asked,
            **options,
        }

    yield case("one direction", {0: states(40, 6)})
    yield case("three directions", {5: states(40, 6)}, n_components=3)
    yield case("many layers, from the end", {-1: states(30, 5), -2: states(30, 5), -7: states(30, 5)}, n_components=2)
    yield case("layers of unlike width", {1: states(40, 8), 2: states(25, 4), 3: states(50, 12)}, n_components=2)
    yield case("some layers", {1: states(40, 6), 2: states(40, 6), 3: states(40, 6)}, 2, asked=[3, 1])
    yield case("no layers", {1: states(40, 6)}, asked=[])
    yield case("single precision", {4: states(60, 7, np.float32), 6: states(20, 3, np.float32)}, n_components=3)
    yield case("far from the origin", {0: states(40, 6) + 50}, n_components=2)
    yield case("fewer rows than directions", {0: states(4, 9)}, n_components=6)
    yield case("two rows", {0: states(2, 5)}, n_components=2)
    yield case("narrower than directions", {0: states(30, 3)}, n_components=5)
    yield case("as many as there can be", {0: states(30, 4), 1: states(5, 7)}, n_components=4)
    yield case("two columns", {0: states(30, 2, variances=[4.0, 1.0])}, n_components=2)
    yield case(
        "means of an earlier call", {0: states(40, 6), 1: states(40, 6)}, 2, asked=[1], earlier={0: states(5, 6)}
    )
    yield case("one row", {1: states(30, 4), 0: states(1, 4)}, n_components=1)
    yield case("no rows", {0: np.zeros((0, 4))}, n_components=1)
    yield case("one row where nobody asks", {0: states(1, 4), 1: states(30, 4)}, asked=[1])
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from repe.rep_readers import PCARepReader

    reader = PCARepReader(n_components=case["n_components"])
    if "earlier" in case:
        reader.get_rep_directions(None, None, case["earlier"], list(case["earlier"]))
    given = {layer: values.copy() for layer, values in case["hidden_states"].items()}
    try:
        directions = reader.get_rep_directions(None, None, given, case["hidden_layers"])
    except ValueError as error:
        return {"error": type(error).__name__, "kept": sorted(reader.H_train_means)}
    observed = {
        "layers": list(directions),
        "shapes": [list(values.shape) for values in directions.values()],
        "dtypes": [str(values.dtype) for values in directions.values()],
        # A direction and its negative have the same outer product.
        "directions": [np.einsum("ri,rj->rij", values, values) for values in directions.values()],
        "means": {str(layer): mean for layer, mean in sorted(reader.H_train_means.items())},
        "unchanged": all(np.array_equal(given[layer], values) for layer, values in case["hidden_states"].items()),
    }
    reader.directions = directions
    reader.signs = {layer: np.ones(len(values)) for layer, values in directions.items()}
    observed["projections"] = {
        str(layer): np.abs(reader.project_onto_directions(given[layer], layer)) for layer in directions
    }
    return observed
