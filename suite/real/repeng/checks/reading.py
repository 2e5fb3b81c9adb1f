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
        yield projected(f"short, {dtype}", generator.normal(size=(4, 3)), 1e-3 * np.array([0.6, 0, -0.8]), dtype)
        yield projected(f"long, {dtype}", 500 * generator.uniform(-1, 1, (4, 3)), 900 * np.array([0.6, 0, -0.8]), dtype)
        yield projected(f"one row, {dtype}", generator.normal(size=(1, 7)), generator.normal(size=7), dtype)
    yield projected("a length near 1", generator.normal(size=(5, 3)), (1 + 5e-6) * np.array([0.6, 0, -0.8]))
    yield projected("one number", generator.normal(size=(5, 1)), np.array([-2.5]))
    yield projected("500 wide", generator.normal(size=(3, 500)), generator.normal(size=500))
    yield projected("500 rows", generator.normal(size=(500, 2)), generator.normal(size=2))
    yield projected("zeros", np.zeros((3, 4)), generator.normal(size=4))
    yield projected("not contiguous", generator.normal(size=(4, 12)), generator.normal(size=12), stride=2)
    yield projected("columns first", generator.normal(size=(4, 6)), generator.normal(size=6), stride=-1)
    for sign in (1, -1):
        yield projected(f"infinite, {sign}", np.ones((2, 3)), np.array([1.0, sign * np.inf, 0]), refused=True)
    yield projected("infinite, both signs", np.ones((2, 3)), np.array([np.inf, -np.inf, 0]), refused=True)
    yield projected(
        "infinite, in single precision", np.ones((2, 2)), np.array([np.inf, np.inf]), "float32", refused=True
    )

    def states(
        pairs=13, width=6, mean=1.0, spread=1.0, noise=0.05, shared=2.0, turn=1.0, amounts=None, first=False, far=0.0
    ):
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
        middle = shared * generator.normal(size=(len(amounts), width)) + far * along
        # Noise is across the direction, so that votes are clear.
        across = noise * generator.normal(size=(len(amounts), width))
        across -= (across @ along)[:, None] * along
        half = turn * amounts[:, None] * along / 2 + across * (amounts != 0)[:, None]
        found = np.empty((2 * len(amounts), width))
        found[::2], found[1::2] = middle + half, middle - half
        return found

    def case(name, layers=None, pairs=13, method="pca_diff", indices=(1,), count=3, **more):
        """Hidden states that are given by the transform; layers without them are those of the toy model."""
        width = more.pop("model width", 8)
        model = {"width": width, "layers": count, "seed": int(generator.integers(2**31))}
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
            "kind": "list",
            "later": [],
            **more,
        }

    for method in ("pca_diff", "pca_center"):
        for dtype in ("float32", "float64"):
            yield case(f"given, {dtype}", {1: states()}, method=method, dtype=dtype)
            yield case(f"turned, {dtype}", {1: states(turn=-1.0)}, method=method, dtype=dtype)
        # The mean is all, or nothing.
        yield case("a large mean", {1: states(mean=20.0)}, method=method)
        yield case("no mean", {1: states(mean=0.1, spread=3.0)}, method=method)
        # The mean and the largest variance point in different directions.
        for turn in (1.0, -1.0):
            found = states(mean=0.6, spread=0.9, turn=turn)
            offset = np.array([2.5, 0, -2.5, 1.0, 0, 3.0])
            found[::2] += offset
            found[1::2] -= offset
            yield case(f"a mean in another direction, {turn}", {1: found}, method=method)
        # Pairs share far more than what they differ by.
        yield case("much that is shared", {1: states(shared=60.0)}, method=method, dtype="float64")
        yield case("large", {1: 100 * states(shared=0.5)}, method=method)
        yield case("small", {1: 0.05 * states(shared=0.5)}, method=method)
        yield case("as wide as the model's", {1: states(width=8, turn=-1.0, first=True)}, method=method)
        yield case("a width of one", {1: states(width=1, noise=0)}, method=method)
        yield case("a width of two", {1: states(width=2)}, method=method)
        yield case("64 wide", {1: states(width=64, noise=0.02)}, method=method)
        yield case("wide and few", {1: states(width=40, noise=0.02, amounts=[0.3, 1.5, 3.0])}, pairs=3, method=method)
        # All other directions vary alike, and by no little.
        amounts = generator.uniform(0.8, 1.2, 200) * np.where(np.arange(200) % 5 < 3, 1.5, -1.0)
        found = states(width=64, noise=0.28, amounts=amounts)
        yield case("64 wide, much noise", {1: found}, pairs=200, method=method)
        # Both texts reach far along the direction, so that a pair's distance is small beside that.
        found = states(amounts=[0.15, 0.25, 0.2, 0.15, -4.0], far=300.0, noise=0.0)
        yield case("a majority of small ones, far out", {1: found}, pairs=5, method=method, dtype="float64")
        yield case("200 pairs", {1: states(pairs=200)}, pairs=200, method=method)
        yield case("two pairs", {1: states(amounts=[0.4, 2.0])}, pairs=2, method=method)
        votes = {
            "a majority of small ones": [0.1, 0.2, 0.15, 0.1, -4.0],
            "a majority of small ones, turned": [-0.1, -0.2, -0.15, -0.1, 4.0],
            "a majority by one": [0.5, 0.9, 0.2, -0.5, -3.0, -0.1, 0.7],
            "without votes": [0, 0, 0, 0, 0, 2.0, 1.0],
            "without votes, turned": [0, 0, 0, 0, 0, -2.0, -1.0],
            "two against one, the others without": [0, 0, 0, 0.5, 0.8, -3.0, 0],
            "one against two, the others without": [0, 0, 0, -0.5, -0.8, 3.0, 0],
            "all alike in direction": [0.2, 0.5, 1.0, 3.0, 2.0],
            "the first against the others": [-2.0, 0.3, 0.4, 0.5],
            "the last against the others": [0.3, 0.4, 0.5, -2.0],
            "the first three of seven against the others": [-0.9, -0.4, -0.6, 0.5, 0.7, 0.8, 0.3],
        }
        for name, amounts in votes.items():
            for dtype in ("float32", "float64"):
                found = states(amounts=amounts, noise=0.0)
                yield case(f"{name}, {dtype}", {1: found}, pairs=len(amounts), method=method, dtype=dtype)
        found = states(amounts=[0.5, 2.0, -0.4, -1.5], noise=0.0)
        yield case("as many votes for as against", {1: found}, pairs=4, method=method, tie=True)
        several = {0: states(width=3), 2: states(width=9, turn=-1.0), 1: states(mean=5.0)}
        for indices in ((0, 1, 2), (2, 0, 1), (-1, -3, -2), (-1, 0), (1, -1)):
            yield case(f"layers {indices}", several, method=method, indices=indices)
        yield case("all layers but the first", several, method=method, indices=None)
        for kind in ("list", "tuple", "range"):
            yield case(f"none in the {kind}", several, method=method, indices=(), kind=kind)
        yield case("a tuple", several, method=method, indices=(2, 1), kind="tuple")
        yield case("a range", several, method=method, indices=(0, 1, 2), kind="range")
        yield case("one layer only", {0: states()}, method=method, indices=None, count=1)
        yield case("one layer only, by its number", {0: states()}, method=method, indices=(-1,), count=1)
        yield case("a model that is controlled", several, method=method, indices=(-1, 0), controlled=True)
        for size in (1, 5, 24, 500):
            yield case(f"batches of {size}", None, method=method, indices=(2, 0), batch=size)
        yield case("hidden states of the model", None, method=method, indices=(0, 1, 2), pairs=31)
        yield case("hidden states of the model, all but the first", None, method=method, indices=None, pairs=31)
        yield case("a controlled model's states", None, method=method, indices=(1, 2), pairs=31, controlled=True)
        yield case("in training mode", None, method=method, indices=(1, 2), training=True)
        yield case("inference", None, method=method, indices=(1, 2), inference=True)
        yield case("a model in double precision", None, method=method, indices=(1, 2), double=True)
        later = [
            {"texts": 7},
            {"method": {"pca_diff": "pca_center", "pca_center": "pca_diff"}[method]},
            {"layers": [0]},
            {"weights": -1.0},
        ]
        yield case("again, with other settings", None, method=method, indices=(2, 1), later=later)
        for rows in (-1, 1, 2):
            found = states()
            found = found[:rows] if rows < 0 else np.concatenate([found, found[:rows]])
            yield case(f"{rows} rows too many", {1: found}, method=method, refused=True)
        uneven = {0: states(), 1: states()[:-2], 2: states()}
        yield case("rows of a later layer", uneven, method=method, indices=(0, 1, 2), refused=True)
    yield case("one pair", {1: states(amounts=[0.7])}, pairs=1, method="pca_center")
    yield case("one pair, turned", {1: states(amounts=[-0.7])}, pairs=1, method="pca_center")
    yield case("the default", {1: states(mean=20.0)}, method="default")
    for method in ("pca", "", "PCA_diff", "pca_difference", "mean"):
        yield case("unknown", {1: states()}, method=method, refused=True)
    yield case("unknown, without a layer to read", {0: states()}, method="pca", indices=None, count=1)
    yield {"name": "experiment", "seed_of_experiment": seed % 1000}


def observe(case):
    if "seed_of_experiment" in case:
        from experiment import run

        return {"experiment": run(case["seed_of_experiment"])}
    return _projection(case) if "rows" in case else _directions(case)


def _projection(case):
    from repeng.extract import project_onto_direction

    rows, direction = (case[name].astype(case["dtype"]) for name in ("rows", "direction"))
    if case.get("stride") == 2:
        rows, direction = rows[:, ::2], direction[::-2]
    elif case.get("stride") == -1:
        rows = np.asfortranarray(rows)
    kept = rows.copy(), direction.copy()
    if case.get("refused"):
        return {"facts": [_raised(lambda: project_onto_direction(rows, direction), AssertionError)]}
    found = project_onto_direction(rows, direction)
    facts = [type(found).__name__, str(found.dtype), list(found.shape)]
    facts += [np.array_equal(item, old) for item, old in zip((rows, direction), kept, strict=True)]
    scale = np.linalg.norm(rows.astype("float64"), axis=1).clip(min=1e-30)
    return {"double" if case["dtype"] == "float64" else "single": found.astype("float64") / scale, "facts": facts}


def _raised(call, kind):
    try:
        call()
    except Exception as error:
        return isinstance(error, kind)
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
    model.train(case.get("training", False))
    if case.get("double"):
        model = model.double()
    parameters = [item.detach().clone() for item in model.parameters()]
    if case.get("controlled"):
        model = ControlModel(model, [1, -1])
        model.set_raw_control(dict.fromkeys(range(settings["layers"]), 0.3 * torch.ones(settings["width"])))
        model.train(case.get("training", False))
    batches = []

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
    kind = case["kind"]
    if kind == "range":
        arguments["hidden_layers"] = range(len(arguments["hidden_layers"]))
    elif kind == "tuple":
        arguments["hidden_layers"] = tuple(arguments["hidden_layers"])
    given, seen = case["given"], []
    if given is not None:

        def transform(hiddens):
            seen.append(
                [
                    type(hiddens).__name__,
                    *((layer, list(item.shape), str(item.dtype)) for layer, item in hiddens.items()),
                ]
            )
            # The order of what is returned is not that of the layers which are asked for.
            return {layer: given[layer].astype(case["dtype"], copy=True) for layer in reversed(hiddens)}

        arguments["transform_hiddens"] = transform
    if case.get("refused"):
        kind = (
            AssertionError
            if case["name"].startswith(("pca_diff", "pca_center")) and "rows" in case["name"]
            else ValueError
        )
        return {"facts": [_raised(lambda: read_representations(model, tokenizer, inputs, **arguments), kind)]}
    directions, facts = [], []
    for change in ({}, *case["later"]):
        inputs = inputs[-change.get("texts", len(inputs)) :]
        arguments["method"] = change.get("method", arguments.get("method", "pca_diff"))
        if not change and case["arguments"]["method"] == "default":
            del arguments["method"]
        arguments["hidden_layers"] = change.get("layers", arguments["hidden_layers"])
        kept = [(entry.positive, entry.negative) for entry in inputs]
        layers = arguments["hidden_layers"]
        layers = None if layers is None else list(layers)
        if "weights" in change:
            with torch.no_grad():
                model.model.words.weight *= change["weights"]
            parameters = [item.detach().clone() for item in model.parameters()]
        batches.clear()
        seen.clear()
        with torch.inference_mode(case.get("inference", False)):
            found = read_representations(model, tokenizer, inputs, **arguments)
        facts.append([list(batches), list(seen)])
        facts.append([type(found).__name__, [(type(layer).__name__, layer) for layer in found]])
        facts.append([[type(item).__name__, str(item.dtype), list(item.shape)] for item in found.values()])
        facts.append([(entry.positive, entry.negative) for entry in inputs] == kept)
        facts.append(
            [type(layers).__name__, layers, layers == (None if layers is None else list(arguments["hidden_layers"]))]
        )
        facts.append([model.training, [(item.grad is None, item.requires_grad) for item in model.parameters()]])
        facts.append([str(item.dtype) for item in model.parameters()])
        facts.append([torch.equal(item, old) for item, old in zip(model.parameters(), parameters, strict=True)])
        for item in found.values():
            direction = item.astype("float64")
            facts.append(abs(np.linalg.norm(direction) - 1) < 1e-4)
            if case.get("tie"):
                direction = direction * np.sign(direction[np.abs(direction).argmax()])
            directions.append(direction)
    return {"directions": directions, "facts": facts}
