"""A scan of LAT: activity, directions, signs, projections, and the pipeline over them. In double precision."""

from contextlib import contextmanager

import numpy as np
import torch

WORDS = ["joy", "sun", "gift", "loss", "rain", "debt", "house", "road", "river", "stone", "amount", "of", "in", "is"]
TEMPLATE = "amount of {text} is"


def cases(seed):
    generator = np.random.default_rng(seed)

    def states(rows, width, deviations=(3.0, 2.0, 1.3, 0.8)):
        """Rows away from the origin, which vary along hidden axes by amounts that are apart."""
        axes = np.linalg.qr(generator.normal(size=(width, width)))[0]
        spread = np.resize(np.array(deviations), width) * np.where(np.arange(width) < len(deviations), 1, 0.1)
        values = generator.normal(size=(rows, width))
        values -= values.mean(axis=0)
        if rows > width + 1:
            values = values @ np.linalg.inv(np.linalg.cholesky(np.cov(values.T, ddof=1).reshape(width, width)).T)
        return 2 * generator.normal(size=width) + (values * spread) @ axes.T

    def pairs(rows, directions):
        """States of both sides whose projections are apart, further where the first is ahead.

        Along the first direction either side is ahead in turn.
        """
        left = generator.normal(size=(rows, directions.shape[1]))
        step = np.where(generator.random((rows, len(directions))) < 0.5, 1.0, -1.0)
        step[1::2, 0] = -step[: rows - 1 : 2, 0][: len(step[1::2])]
        apart = generator.uniform(0.1, 0.5, step.shape) * np.where(step > 0, 6, 1)
        return left + (step * apart) @ directions, left

    def directions(count, width):
        return np.linalg.qr(generator.normal(size=(width, width)))[0][:count]

    yield {"name": "means", "states": states(7, 4), "mean": generator.normal(size=(1, 4))}
    pca = [
        ("one direction", {0: states(20, 4)}, 1, [0]),
        ("three directions", {5: states(20, 6)}, 3, [5]),
        ("some layers", {1: states(20, 4), 2: states(15, 5), 3: states(20, 4)}, 2, [3, 1]),
        ("fewer rows than columns", {0: states(6, 9), 1: states(4, 5)}, 3, [0, 1]),
    ]
    for name, layers, count, asked in pca:
        yield {"name": f"principal components, {name}", "pca": layers, "count": count, "asked": asked}
    narrow = {0: states(20, 3), 2: states(20, 1)}
    yield {"name": "principal components, narrower", "pca": narrow, "count": 5, "asked": [0, 2], "edge": True}
    layers = {0: states(20, 4).astype(np.float32)}
    yield {"name": "principal components, single precision", "pca": layers, "count": 2, "asked": [0]}
    yield {"name": "cluster means", "clusters": {1: states(8, 4), 2: states(7, 3), 4: states(6, 4)}, "asked": [4, 2]}
    for rows, tied in ((5, False), (7, False), (4, True), (9, True)):
        axes = {0: directions(3, 5), 2: directions(1, 3), 3: directions(2, 4)}
        sides = {layer: pairs(rows, axes[layer]) for layer in axes}
        if tied and rows % 2:
            # As many pairs with the larger projection on either side, and one in which both are the same.
            sides[0][0][-1] = sides[0][1][-1]
        yield {"name": f"signs of {rows} pairs", "axes": axes, "pairs": sides, "asked": [0, 2], "edge": tied}
    for kept in (True, False):
        case = {"name": f"projections, means kept {kept}", "states": states(9, 4), "axes": {3: directions(3, 4)}}
        case["signs"] = {3: np.array([-1.0, 1.0, -1.0])}
        yield case | {"means": {3 if kept else 1: generator.normal(size=(1, 4))}, "edge": not kept}
    for part in ("activity", "pca", "means"):
        texts = []
        for row in range(10):
            lengths = [row % 3 + 1, row % 4 + 1] if part == "activity" else [3, 3]
            fillers = generator.choice(WORDS[6:10], 2)
            chosen = [[*generator.choice(WORDS[3 * side : 3 * side + 3], lengths[side]), *fillers] for side in (0, 1)]
            # One word of each text is of the other kind in a few pairs, so that not all of them are easy.
            if row % 4 == 3:
                chosen[0][0], chosen[1][0] = chosen[1][0], chosen[0][0]
            first_has_more = bool(generator.random() < 0.5)
            texts.append(([" ".join(words) for words in chosen[:: 1 if first_has_more else -1]], first_has_more))
        drawn = int(generator.integers(10**6))
        yield {"name": f"pipeline, {part}", "part": part, "texts": texts, "seed": drawn}


@contextmanager
def double_precision():
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)


def observe(case):
    with double_precision():
        if "part" in case:
            return pipeline(case)
        if "pca" in case:
            return components(case)
        if "clusters" in case:
            from repe.rep_readers import ClusterMeanRepReader

            reader = ClusterMeanRepReader()
            found = reader.get_rep_directions(None, None, case["clusters"], case["asked"])
            return {"directions": by_layer(found), "means": by_layer(reader.H_train_means)}
        if "pairs" in case:
            return signs(case)
        return projections(case) if "means" in case else means(case)


def by_layer(values):
    return {str(layer): values[layer] for layer in sorted(values)}


def means(case):
    from repe.rep_readers import recenter

    given = case["states"].copy(), case["mean"].copy()
    found = [*recenter(case["states"]), *recenter(case["states"], case["mean"])]
    kept = np.array_equal(given[0], case["states"]) and np.array_equal(given[1], case["mean"])
    return {"found": found, "kept": kept}


def components(case):
    from repe.rep_readers import PCARepReader

    reader = PCARepReader(n_components=case["count"])
    reader.H_train_means = {2: np.array([[5.0]]), 9: np.array([[7.0, 8.0]])}
    given = {layer: rows.copy() for layer, rows in case["pca"].items()}
    found = reader.get_rep_directions(None, None, given, case["asked"])
    # A direction and its negative have the same outer product.
    products = by_layer({layer: np.einsum("ri,rj->rij", rows, rows) for layer, rows in found.items()})
    values = {"products": products, "means": by_layer(reader.H_train_means)}
    single = any(rows.dtype == np.float32 for rows in given.values())
    kept = all(np.array_equal(given[layer], rows) for layer, rows in case["pca"].items())
    return {"single" if single else "double": values, "kept": kept}


def signs(case):
    from repe.rep_readers import RepReader

    class Given(RepReader):
        """Finds the directions of the case, moved by what it is fitted to."""

        def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
            given.append([model, tokenizer])
            return {layer: hidden_states[layer] * case["axes"][layer] for layer in hidden_layers}

    given, readers = [], [Given(3), Given(3)]
    readers[0].directions = case["axes"]
    found = readers[0].get_signs(case["pairs"], case["asked"])
    turned = {layer: np.array(-1.0 if layer else 1.0) for layer in case["axes"]}
    readers[1].fit("model", "tokenizer", turned, case["pairs"], case["asked"])
    fitted = [by_layer(readers[1].directions), by_layer(readers[1].signs)]
    return {"signs": by_layer(found), "fitted": fitted, "given": given}


def projections(case):
    from repe.rep_readers import PCARepReader

    reader = PCARepReader(3)
    reader.directions, reader.signs, reader.H_train_means = case["axes"], case["signs"], case["means"]
    found = [reader.project_onto_directions(case["states"], 3, component) for component in (0, 2)]
    return {"projections": [*found, reader.project_onto_directions(case["states"][:1], 3)]}


def pipeline(case):
    from model import ModelConfig, TinyTransformer
    from repe.pipeline import ReadingPipeline, Stimulus
    from repe.rep_readers import ClusterMeanRepReader, PCARepReader
    from tokenizer import WordTokenizer

    amounts = torch.tensor([(place < 3) - (3 <= place < 6) for place in range(len(WORDS))], dtype=torch.float64)
    model = TinyTransformer(ModelConfig(len(WORDS), width=10), amounts, case["seed"] % 1000)
    reading = ReadingPipeline(model, WordTokenizer(WORDS), TEMPLATE)
    stimuli = [Stimulus(tuple(texts), first_has_more) for texts, first_has_more in case["texts"]]
    if case["part"] == "activity":
        texts = [text for item in stimuli for text in item.texts]
        return {
            "activity": by_layer(reading.activity(texts, [2, 0])),
            "few": by_layer(reading.activity(texts[:1], [3])),
        }
    kind, given = PCARepReader if case["part"] == "pca" else ClusterMeanRepReader, []

    class Watched(kind):
        """Notes what it is fitted with."""

        def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
            given.append([model is reading.model, tokenizer is reading.tokenizer])
            return super().get_rep_directions(model, tokenizer, hidden_states, hidden_layers)

    reader = Watched(2)
    found = reading.fit(reader, stimuli[:7], (1, 3))
    directions = dict(reader.directions)
    if kind is PCARepReader:
        # What sign a principal component has is open, as long as both signs agree.
        directions = {layer: reader.signs[layer][:, np.newaxis] * rows for layer, rows in directions.items()}
    accuracies = [reading.accuracy(reader, stimuli[start:], layer) for layer in (1, 3) for start in (0, 3, 7)]
    kept = {"directions": by_layer(directions), "means": by_layer(reader.H_train_means)}
    return kept | {"the_same": found is reader, "given": given, "accuracies": accuracies}
