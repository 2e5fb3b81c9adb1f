"""Directions and projections: methods, votes, layers, transforms, batches and errors; then the experiment."""

import numpy as np
import torch

LETTERS = [f"w{number}" for number in range(30)]


def cases(seed):
    generator = np.random.default_rng(seed)

    def projected(name, rows, direction, dtype="float64", **more):
        return {"name": f"projection, {name}", "rows": rows, "direction": direction, "dtype": dtype, **more}

    for dtype in ("float32", "float64"):
        yield projected(dtype, generator.normal(size=(5, 7)), 3 * generator.normal(size=7), dtype)
        unit = generator.normal(size=3)
        unit /= np.linalg.norm(unit)
        yield projected(f"short, {dtype}", generator.normal(size=(4, 3)), 1e-3 * unit, dtype)
        yield projected(f"long, {dtype}", 500 * generator.uniform(-1, 1, (4, 3)), 900 * unit, dtype)
    yield projected("one row", generator.normal(size=(1, 4)), generator.normal(size=4))

    def states(pairs=13, width=6, mean=1.0, spread=1.0, noise=0.05, shared=2.0, turn=1.0, amounts=None, first=False):
        """Hidden states whose differences lie along a direction, by an amount for each pair; the noise is small."""
        along = generator.normal(size=width)
        if first:
            # Mostly the first number, which is the one that stands out in the toy model.
            along[0] = 3 + np.abs(along).sum()
        along /= np.linalg.norm(along)
        if amounts is None:
            amounts = mean + spread * np.linspace(-1, 1, pairs) ** 3
            amounts = generator.permutation(np.where(np.abs(amounts) < 0.15, 0.15, amounts))
        amounts = np.asarray(amounts, dtype=float)
        middle = shared * generator.normal(size=(len(amounts), width))
        # Noise is across the direction, so that votes are clear.
        across = noise * generator.normal(size=(len(amounts), width))
        across -= (across @ along)[:, None] * along
        half = turn * amounts[:, None] * along / 2 + across * (amounts != 0)[:, None]
        found = np.empty((2 * len(amounts), width))
        found[::2], found[1::2] = middle + half, middle - half
        return found

    def case(name, layers=None, pairs=13, method="pca_diff", indices=(1,), count=3, **more):
        """Hidden states that are given by the transform; layers without them are those of the toy model."""
        model = {"width": 8, "layers": count, "seed": int(generator.integers(2**31))}
        lengths = generator.integers(1, 6, size=(pairs, 2))
        texts = [[" ".join(generator.choice(LETTERS, int(n))) for n in row] for row in lengths]
        # The last words of positive texts are of the first half, but for every fifth pair.
        for place, row in enumerate(texts):
            for half, text in enumerate(row):
                last = LETTERS[int(generator.integers(15)) + 15 * ((half + (place % 5 == 4)) % 2)]
                row[half] = " ".join([*text.split()[1:], last])
        return {
            "name": f"{method}, {name}",
            "given": layers,
            "texts": texts,
            "model": model,
            "arguments": {"method": method, "hidden_layers": None if indices is None else list(indices)},
            "dtype": "float32",
            "later": [],
            **more,
        }

    for method in ("pca_diff", "pca_center"):
        for turn in (1.0, -1.0):
            for dtype in ("float32", "float64"):
                yield case(f"given, {turn}, {dtype}", {1: states(turn=turn)}, method=method, dtype=dtype)
        # The mean is all, or nothing.
        yield case("a large mean", {1: states(mean=20.0)}, method=method)
        yield case("no mean", {1: states(mean=0.1, spread=3.0)}, method=method)
        # The mean and the largest variance point in different directions.
        for turn in (1.0, -1.0):
            found = states(mean=0.6, spread=0.9, turn=turn)
            offset = generator.permutation([2.5, 0, -2.5, 1.0, 0, 3.0])
            found[::2] += offset
            found[1::2] -= offset
            yield case(f"a mean in another direction, {turn}", {1: found}, method=method)
        # Pairs share far more than what they differ by.
        yield case("much that is shared", {1: states(shared=60.0)}, method=method, dtype="float64")
        yield case("large", {1: 100 * states(shared=0.5)}, method=method)
        yield case("64 wide", {1: states(width=64, noise=0.02)}, method=method)
        yield case("as wide as the model's", {1: states(width=8, turn=-1.0, first=True)}, method=method)
        yield case("150 pairs", {1: states(pairs=150)}, pairs=150, method=method)
        votes = {
            "a majority of small ones": [0.1, 0.2, 0.15, 0.1, -4.0],
            "a majority of small ones, turned": [-0.1, -0.2, -0.15, -0.1, 4.0],
            "a majority by one": [0.5, 0.9, 0.2, -0.5, -3.0, -0.1, 0.7],
            "all alike in direction": [0.2, 0.5, 1.0, 3.0, 2.0],
            "the first against the others": [-2.0, 0.3, 0.4, 0.5],
        }
        for name, amounts in votes.items():
            amounts = np.array(amounts) * generator.uniform(0.8, 1.1)
            dtype = generator.choice(["float32", "float64"])
            yield case(
                name, {1: states(amounts=amounts, noise=0.0)}, pairs=len(amounts), method=method, dtype=str(dtype)
            )
        several = {0: states(width=3), 2: states(width=9, turn=-1.0), 1: states(mean=5.0)}
        for indices in ((0, 1, 2), (-1, -3, -2), (1, -1), None):
            yield case(f"layers {indices}", several, method=method, indices=indices)
        for size in (5, 500):
            yield case(f"batches of {size}", None, method=method, indices=(2, 0), batch=size)
        yield case("hidden states of the model", None, method=method, indices=None, pairs=31)
        yield case("a controlled model's states", None, method=method, indices=(1, -1), pairs=31, controlled=True)
        yield case("a model in training", None, method=method, indices=(1, 2), training=True)
    yield case("the default", {1: states(mean=20.0)}, method="default")
    yield case("no layers in the list", {1: states(), 2: states()}, indices=())
    yield {"name": "experiment", "seed_of_experiment": seed % 1000}

    for dtype in ("float64", "float32"):
        direction = np.where(generator.permutation(3) == 0, np.inf, 1.0)
        yield projected(f"infinite, {dtype}", np.ones((2, 3)), direction, dtype, refused="AssertionError", edge=True)
    for method in ("pca_diff", "pca_center"):
        votes = {
            "without votes": [0, 0, 0, 0, 0, 2.0, 1.0],
            "without votes, turned": [0, 0, 0, 0, 0, -2.0, -1.0],
            "two against one, the others without": [0, 0, 0, 0.5, 0.8, -3.0, 0],
            "one against two, the others without": [0, 0, 0, -0.5, -0.8, 3.0, 0],
        }
        for name, amounts in votes.items():
            amounts = np.array(amounts) * generator.uniform(0.8, 1.1)
            yield case(name, {1: states(amounts=amounts, noise=0.0)}, pairs=7, method=method, edge=True)
        for rows in (-1, 1, 2):
            found = states()
            found = found[:rows] if rows < 0 else np.concatenate([found, found[:rows]])
            yield case(f"{rows} rows too many", {1: found}, method=method, refused="AssertionError", edge=True)
        other = {"pca_diff": "pca_center", "pca_center": "pca_diff"}[method]
        later = [{"texts": 7}, {"method": other}, {"layers": [0]}, {"weights": -1.0}]
        yield case("settings that change", None, method=method, indices=(2, 1), later=later, edge=True)
    for method in ("pca", "PCA_diff", "pca_difference", ""):
        yield case("unknown", {1: states()}, method=method, refused="ValueError", edge=True)
    yield case("one layer only", {0: states()}, indices=None, count=1, edge=True)
    yield projected("by columns", generator.normal(size=(4, 5)).T, generator.normal(size=4), edge=True)
    yield case("a model in double precision", {1: states()}, double=True, edge=True)
    yield case("batches of one", {1: states()}, batch=1)
    yield case("batches of 600", {1: states(pairs=40)}, pairs=40, batch=600)


def observe(case):
    if "seed_of_experiment" in case:
        from experiment import run

        return {"experiment": run(case["seed_of_experiment"])}
    return _projection(case) if "rows" in case else _directions(case)


def _projection(case):
    from repeng.extract import project_onto_direction

    rows, direction = (case[name].astype(case["dtype"]) for name in ("rows", "direction"))
    kept = rows.copy(), direction.copy()
    if "refused" in case:
        return {"refused": _raised(lambda: project_onto_direction(rows, direction), case["refused"])}
    found = project_onto_direction(rows, direction)
    facts = [type(found).__name__, str(found.dtype), list(found.shape)]
    facts += [np.array_equal(item, old) for item, old in zip((rows, direction), kept, strict=True)]
    scale = np.linalg.norm(rows.astype("float64"), axis=1)
    return {"double" if case["dtype"] == "float64" else "single": found.astype("float64") / scale, "facts": facts}


def _raised(call, kind):
    try:
        call()
    except Exception as error:
        return isinstance(error, {"AssertionError": AssertionError, "ValueError": ValueError}[kind])
    return "nothing is raised"


def _directions(case):
    from repeng.control import ControlModel
    from repeng.extract import DatasetEntry, read_representations
    from toy import Model, Words

    settings = case["model"]
    torch.manual_seed(settings["seed"])
    model = Model(len(LETTERS), settings["width"], settings["layers"])
    with torch.no_grad():
        # One number of the words stands out, and tells those of the first half from others.
        model.model.words.weight *= 0.2
        amounts = torch.linspace(4, 1, 15)
        model.model.words.weight[1:, 0] = torch.cat([amounts, -amounts])
    if case.get("double"):
        model.double()
    if case.get("controlled"):
        model = ControlModel(model, [1, -1])
        model.set_raw_control(dict.fromkeys(range(settings["layers"]), 0.3 * torch.ones(settings["width"])))
    model.train(case.get("training", False))
    batches, seen = [], []

    class Noting(Words):
        def __call__(self, texts, *more, **named):
            batches.append(list(texts))
            return super().__call__(texts, *more, **named)

    tokenizer = Noting(LETTERS)
    inputs = [DatasetEntry(*texts) for texts in case["texts"]]
    arguments = dict(case["arguments"])
    if arguments["method"] == "default":
        del arguments["method"]
    if "batch" in case:
        arguments["batch_size"] = case["batch"]
    given = case["given"]
    if given is not None:

        def transform(hiddens):
            seen.append(sorted((layer, list(item.shape)) for layer, item in hiddens.items()))
            # The order of what is returned is not that of the layers which are asked for.
            return {layer: given[layer].astype(case["dtype"], copy=True) for layer in reversed(hiddens)}

        arguments["transform_hiddens"] = transform
    if "refused" in case:
        return {
            "refused": _raised(lambda: read_representations(model, tokenizer, inputs, **arguments), case["refused"])
        }
    directions, facts = [], []
    for change in ({}, *case["later"]):
        inputs = inputs[-change.get("texts", len(inputs)) :]
        if "method" in change:
            arguments["method"] = change["method"]
        arguments["hidden_layers"] = change.get("layers", arguments["hidden_layers"])
        if "weights" in change:
            with torch.no_grad():
                model.model.words.weight *= change["weights"]
        kept = [(entry.positive, entry.negative) for entry in inputs]
        parameters = [item.detach().clone() for item in model.parameters()]
        batches.clear()
        seen.clear()
        found = read_representations(model, tokenizer, inputs, **arguments)
        layers = sorted(found)
        facts.append([list(batches), list(seen), layers, arguments["hidden_layers"]])
        facts.append(
            [[type(found[layer]).__name__, str(found[layer].dtype), list(found[layer].shape)] for layer in layers]
        )
        facts.append([(entry.positive, entry.negative) for entry in inputs] == kept)
        facts.append([model.training, [[item.requires_grad, str(item.dtype)] for item in model.parameters()]])
        facts.append([torch.equal(item, old) for item, old in zip(model.parameters(), parameters, strict=True)])
        directions += [found[layer].astype("float64") for layer in layers]
        facts += [abs(np.linalg.norm(found[layer].astype("float64")) - 1) < 1e-4 for layer in layers]
    return {"directions": directions, "facts": facts}
