"""pca_directions: what the directions span, their order and number, the means that are kept; then the experiment."""

import random

import numpy as np
import torch
from scipy.linalg import qr


def cases(seed):
    generator = np.random.default_rng(seed)

    def states(rows, width, dtype=np.float64, deviations=None, scale=1.0):
        """Rows whose deviations along hidden axes are far apart, away from the origin."""
        axes = qr(generator.normal(size=(width, width)))[0]
        spread = 0.2 * 2.0 ** np.arange(min(width, 6), 0, -1) if deviations is None else np.array(deviations)
        spread = np.concatenate([spread, np.full(max(0, width - len(spread)), 0.02)])[:width]
        values = generator.normal(size=(rows, width))
        # Whitened, so that the sample's deviations are as far apart as the spread is.
        values -= values.mean(axis=0)
        if rows > width + 1:
            values = values @ np.linalg.inv(np.linalg.cholesky(np.cov(values.T, ddof=1).reshape(width, width)).T)
        return (scale * (3 * generator.normal(size=width) + (values * spread) @ axes.T)).astype(dtype)

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
    yield case("some layers", {1: states(40, 6), 2: states(40, 6), 3: states(40, 6)}, 2, asked=(3, 1))
    yield case("no layers", {1: states(40, 6)}, asked=[])
    yield case("single precision", {4: states(60, 7, np.float32), 6: states(20, 3, np.float32)}, n_components=3)
    yield case("far from the origin", {0: states(40, 6) + 1e4, 1: states(40, 6) + 1e6}, n_components=6)
    for dtype in (np.float64, np.float32):
        ends = {layer: states(40, 6, dtype, scale=scale) for layer, scale in enumerate((1e-17, 1e-12, 1e-9, 1e9, 2e14))}
        yield case(f"of small and of great magnitude, {np.dtype(dtype)}", ends, n_components=3)
    # So slow a descent that only a decomposition of the whole, and no sample of the rows' space, finds the directions.
    slow = {0: states(70, 40, deviations=[3.000003, 3.0, *np.linspace(2.9, 1.0, 38)]), 1: states(12, 40)}
    slow[2] = states(90, 30, deviations=np.linspace(2.0, 1.7, 30))
    yield case("many rows and columns", slow, n_components=3)
    close = {layer: states(40, 6, deviations=[3.000003, 3.0, 1.0]) for layer in (0, 1, 2)}
    yield case("two deviations almost alike", close | {0: np.asfortranarray(close[0])}, n_components=2)
    wide = {0: states(40, 6, deviations=[150.0, 30.0, 10.0, 5.0, 1.0002, 1.0])}
    wide[1] = states(40, 3, deviations=[140.0, 9.0, 1.0])
    yield case("deviations far apart and almost alike", wide, n_components=6)
    apart = {0: states(40, 8, np.float32, deviations=[300.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0])}
    for layer, rows in ((1, 40), (2, 90), (3, 20)):
        apart[layer] = states(rows, 5, np.float32, deviations=[150.0, 1.34, 1.22, 1.11, 1.0])
    yield case("deviations far apart in single precision", apart, n_components=8)
    yield case("fewer rows than directions", {0: states(4, 9)}, n_components=6)
    yield case("two rows", {0: states(2, 5)}, n_components=2)
    yield case("narrower than directions", {0: states(30, 3)}, n_components=5)
    yield case("as many as there can be", {0: states(30, 4), 1: states(5, 7)}, n_components=4)
    yield case("one column", {0: states(30, 1), 1: states(2, 1)}, n_components=2)
    yield case("two columns", {0: states(30, 2, deviations=[4.0, 1.0])}, n_components=2)
    yield case("few rows before many", {1: states(3, 6), 0: states(30, 6), 2: states(30, 6)}, n_components=4)
    twice = {0: np.repeat(states(2, 7), 2, axis=0), 1: np.tile(states(3, 5), (4, 1))}
    yield case("equal rows", twice, n_components=3, determined={0: 1, 1: 2})
    often = states(30, 6)
    often = np.concatenate([often, np.repeat(often[:1], 40, axis=0)])
    yield case("one row many times", {0: often, 1: np.repeat(states(2, 5), [3, 1], axis=0)}, 3, determined={1: 1})
    alike = {0: np.repeat(states(1, 4), 3, axis=0), 1: np.full((4, 5), 2.0, np.float32)}
    yield case("all rows equal", alike, n_components=2, determined={0: 0, 1: 0})
    earlier = {0: states(3, 6), 1: states(30, 6)}
    yield case("the layer of an earlier call", {1: states(30, 6), 0: states(40, 6)}, 4, asked=[0], earlier=earlier)
    yield case("another number than in an earlier call", {0: states(40, 6)}, 4, earlier=earlier, n_components_earlier=2)
    yield case("one row", {1: states(30, 4), 0: states(1, 4)}, n_components=1)
    yield case("one row after an earlier call", {1: states(30, 6), 0: states(1, 6)}, n_components=1, earlier=earlier)
    yield case("no rows", {0: np.zeros((0, 4))}, n_components=1)
    yield case("one row where nobody asks", {0: states(1, 4), 1: states(30, 4)}, asked=[1])
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from repe.rep_readers import PCARepReader

    reader = PCARepReader(n_components=case.get("n_components_earlier", case["n_components"]))
    if "earlier" in case:
        reader.get_rep_directions(None, None, case["earlier"], list(case["earlier"]))
    reader.n_components = case["n_components"]
    reader.directions, reader.signs = {0: "kept"}, {0: "kept"}
    layers = type(case["hidden_layers"])(case["hidden_layers"])
    given = {layer: values.copy("K") for layer, values in case["hidden_states"].items()}
    try:
        directions, refused = reader.get_rep_directions(None, None, given, layers), False
    except ValueError:
        directions, refused = {}, True
    observed = {
        "refused": refused,
        "means": {str(layer): mean / _magnitude(mean) for layer, mean in reader.H_train_means.items()},
        "magnitudes": {str(layer): float(np.log(_magnitude(mean))) for layer, mean in reader.H_train_means.items()},
        "others": {name: value for name, value in sorted(vars(reader).items()) if name != "H_train_means"},
        "layers_unchanged": layers == case["hidden_layers"],
        "unchanged": all(np.array_equal(given[layer], values) for layer, values in case["hidden_states"].items()),
        "chance": [float(np.random.random()), random.random(), float(torch.rand(()))],
    }
    for dtype in ("float64", "float32"):
        observed[dtype] = {"directions": {}, "products": {}, "projections": {}}
    reader.directions = directions
    reader.signs = {layer: np.ones(len(values)) for layer, values in directions.items()}
    for layer, values in directions.items():
        # A direction and its negative have the same outer product; where nothing varies, any direction will do.
        determined = values[: case.get("determined", {}).get(layer)]
        of_layer = observed[str(given[layer].dtype)]
        of_layer["directions"][str(layer)] = np.einsum("ri,rj->rij", determined, determined)
        of_layer["products"][str(layer)] = values @ values.T
        if len(determined):
            projections = np.abs(reader.project_onto_directions(given[layer], layer))
            of_layer["projections"][str(layer)] = projections / _magnitude(projections)
    return observed


def _magnitude(values):
    """The largest absolute value, so that tolerances hold for vectors of any size."""
    return np.abs(values).max()
