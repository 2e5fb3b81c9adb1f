"""The ball, losses with gradients, scores of pairs, metrics and thresholds; then the experiment."""

import math
from fractions import Fraction

import torch

NAMES = ("anchor", "positive", "negative")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(*shape):
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    yield {"name": "balls", "widths": [1, 2, 3, 16, 384, 768, 1000, 2000]}

    def points(rows, width, c, low=0.05, high=0.95):
        directions = torch.randn(rows, width, generator=generator, dtype=torch.float64)
        directions = directions / directions.norm(dim=-1, keepdim=True)
        return directions * (low + (high - low) * uniform(rows, 1)) / math.sqrt(c)

    def losses(name, rows=7, width=5, c=None, dtype="float32", margins=(0.7, 0.4), **more):
        c = c or 1 / width
        where = more.pop("where", [(0.05, 0.95)] * 3)
        return {
            "name": f"losses, {name}",
            "c": c,
            "dtype": dtype,
            "margins": list(margins),
            "points": [points(rows, width, c, *place) for place in where],
            "layout": "plain",
            "wanted": list(NAMES),
            "later": None,
            **more,
        }

    for dtype in ("float32", "float64"):
        yield losses(f"{dtype}", dtype=dtype)
        yield losses(f"{dtype}, one triplet", rows=1, dtype=dtype, margins=(5.0, 3.0))
        yield losses(f"{dtype}, as published", rows=30, width=16, dtype=dtype, margins=(5.0, 0.5))
        yield losses(f"{dtype}, near the boundary", dtype=dtype, where=[(0.8, 0.97)] * 3)
        yield losses(f"{dtype}, near the origin", dtype=dtype, where=[(0.1, 0.2)] * 3, margins=(0.05, 0.02))
    yield losses("one number wide", width=1, rows=3, c=0.2, dtype="float64")
    yield losses("many triplets", rows=200, width=3, dtype="float64")
    yield losses("wide", rows=4, width=200, dtype="float64")
    for c in (0.001, 0.02, 0.5, 1.0):
        yield losses(f"c of {c}", c=c, dtype="float64")
    yield losses("ints", margins=(2, 1), dtype="float64")
    yield losses("no margins", margins=(0, 0.0), dtype="float64")
    yield losses("negative margins", margins=(-0.5, -1), dtype="float64")
    yield losses("margins that no triplet reaches", margins=(-10, -10), dtype="float64")
    yield losses("large margins", margins=(10.0, 10), dtype="float64")
    yield losses("children below parents", where=[(0.1, 0.2), (0.7, 0.9), (0.3, 0.9)], dtype="float64")
    yield losses("children above parents", where=[(0.7, 0.9), (0.1, 0.3), (0.3, 0.9)], dtype="float64")
    for name in NAMES:
        yield losses(f"a gradient of {name} alone", wanted=[name], dtype="float64")
    yield losses("turned in memory", layout="turned")
    yield losses("spread in memory", layout="spread", dtype="float64")
    # Parent and negative parent are one, or parents are as far out as children: differences are exactly the margin.
    given = losses("ties", margins=(0, 0), dtype="float64")
    given["points"][2] = given["points"][1].clone()
    given["points"][1] = torch.where(torch.arange(7)[:, None] < 4, given["points"][1], -given["points"][0])
    given["points"][0] = given["points"][0].clone()
    yield given
    same = points(5, 4, 0.25)
    given = losses("norms that are equal", rows=5, width=4, margins=(0.3, 0), dtype="float64")
    yield given | {"points": [same, -same, points(5, 4, 0.25)]}
    yield losses("settings changed later", later=[1.5, -0.3, 0.04], dtype="float64")

    def combined(name, weights=(1.0, 1.0), count=3, **more):
        more = {"margins": [1.2, 0.6], "kind": "list", "dtype": "float64", "later": None, "labels": False} | more
        features = [torch.randint(0, 9, (6,), generator=generator) for _ in range(count)]
        return {
            "name": f"both losses, {name}",
            "weights": list(weights),
            "features": features,
            "table": uniform(9, 4),
            **more,
        }

    yield combined("equal weights")
    yield combined("other weights", (0.3, 2))
    yield combined("no clustering", (0, 3.5))
    yield combined("no centripetal", (100, 0.0))
    yield combined("no weights", (0.0, 0))
    yield combined("a generator", (0.5, 0.7), kind="generator")
    yield combined("a tuple, with labels", (2, 0.7), kind="tuple", labels=True)
    yield combined("single precision", (2, 0.7), dtype="float32")
    yield combined("changed later", (0.4, 1.7), later=[1.1, 0.2, 0.9, -0.2])
    yield combined("other losses", (0.4, 1.7), other=True)
    for count in (0, 1, 2, 4):
        yield combined(f"{count} items", count=count)

    def scored(name, weight, rows=6, width=5, dtype="float64", **more):
        c = more.pop("c", 1 / width)
        given = {"given": [True, True], "size": 4, "layout": "plain"} | more
        sides = [points(rows, width, c), points(rows, width, c)]
        return {"name": f"scores, {name}", "weight": weight, "sides": sides, "c": c, "dtype": dtype, **given}

    yield scored("a weight", 0.7)
    yield scored("no weight", 0)
    yield scored("a large weight", 100)
    yield scored("an int", 3)
    yield scored("single precision", 1.3, dtype="float32")
    yield scored("one pair", 1.3, rows=1)
    yield scored("another ball", 0.4, c=0.6)
    yield scored("many pairs", 0.4, rows=200, width=3)
    yield scored("as many numbers as pairs", 0.4, rows=5, width=5)
    yield scored("children encoded", 0.9, given=[False, True])
    yield scored("parents encoded", 0.9, given=[True, False])
    yield scored("both encoded", 0.9, given=[False, False], size=2)
    yield scored("turned in memory", 1.1, layout="turned")
    yield scored("the same entities on both sides", 1.1, given=[False, False], same=True)

    def guesses(*shape):
        return torch.randint(0, 2, shape, generator=generator)

    sets = [[guesses(n), guesses(n)] for n in (1, 2, 7, 40, 1000)]
    ones, zeros = torch.ones(4, dtype=torch.long), torch.zeros(4, dtype=torch.long)
    sets += [
        [ones, ones],
        [ones, zeros],
        [zeros, ones],
        [zeros, zeros],
        [torch.tensor([1, 0, 2, 1]), torch.tensor([2, 0, 1, 1])],
        [torch.tensor([1, 1, 0]), torch.tensor([0, 0, 1])],
    ]
    for truth in (1, 0):
        for kind in ("int64", "bool", "int32"):
            yield {"name": f"metrics of {truth}, {kind}", "predicted": sets, "truth": truth, "kind": kind}

    def threshold(name, **more):
        scores = (torch.randint(-300, 300, (25,), generator=generator).double() + 0.37) / 100
        return {
            "name": f"threshold, {name}",
            "scores": scores,
            "labels": guesses(25),
            "at": [0.5, -1, 0, 1.25, 90, -90.0],
            **more,
        }

    for dtype in ("float32", "float64"):
        yield threshold(dtype, dtype=dtype, call={})
        yield threshold(f"{dtype}, smaller is better", dtype=dtype, call={"smaller_scores_better": True})
    yield threshold("the other class", dtype="float64", call={"truth_label": 0})
    yield threshold(
        "the other class, smaller is better", dtype="float64", call={"truth_label": 0, "smaller_scores_better": True}
    )
    for smaller in (False, True):
        given = threshold(f"scores that equal it, {smaller}", dtype="float32", call={"smaller_scores_better": smaller})
        yield given | {
            "scores": torch.tensor([0.5, 0.5, -1.0, 0.0, 1.25, 1.25, 3.0]),
            "labels": torch.tensor([1, 0, 1, 1, 0, 1, 1]),
        }
    yield threshold("scores next to it", dtype="float64", call={}) | {
        "scores": torch.tensor([0.5 + 1e-12, 0.5 - 1e-12, 1.25 + 1e-12, 1.25 - 1e-12, 1e-12], dtype=torch.float64),
        "labels": torch.tensor([1, 0, 0, 1, 1]),
    }
    yield threshold("all labels alike", dtype="float64", call={}) | {"labels": torch.ones(25, dtype=torch.long)}
    yield threshold("one score", dtype="float64", call={}) | {
        "scores": torch.tensor([0.7]),
        "labels": torch.tensor([1]),
    }

    def search(name, call=None, low=-3.0, high=3.0, n=30, dtype="float64", granularity=100, **more):
        call = dict(call or {})
        if granularity != 100:
            call["threshold_granularity"] = granularity
        while True:
            # Between thresholds, whatever the rounding.
            whole = torch.randint(int(low * granularity), int(high * granularity), (n,), generator=generator)
            scores, labels = (whole.double() + 0.37) / granularity, guesses(n)
            if all(_one_best(item, labels, granularity, call) for item in (scores, _turned(scores, granularity))):
                break
        return {"name": f"search, {name}", "searched": scores, "labels": labels, "call": call, "dtype": dtype, **more}

    yield search("scores of both signs")
    yield search("negative scores", low=-4.0, high=-1.0)
    yield search("positive scores", low=1.0, high=3.0)
    yield search("single precision", dtype="float32")
    for granularity in (1, 3, 10, 1000):
        wide = 0.6 if granularity == 1000 else 20.0
        yield search(f"granularity of {granularity}", low=-wide, high=wide, granularity=granularity)
    yield search("smaller is better", {"smaller_scores_better": True})
    yield search("the other class", {"truth_label": 0}, low=-1.0, high=1.0)
    for metric in ("precision", "recall", "accuracy", "accuracy_on_negatives", "threshold"):
        yield search(f"the highest {metric}", {"primary_metric": metric}, low=-1.0, high=1.0)
    yield search("few scores, ties", n=4, low=-0.5, high=0.5)
    yield search("scores close together", n=6, low=0.2, high=0.21)
    yield search("one score", n=1)
    yield search("a value that none reaches", {"best_primary_metric_value": 1.01}, results={"kept": 5})
    yield search(
        "a value that is reached", {"best_primary_metric_value": 0.1}, results={"centri_weight": 0.3, "f1": -1}
    )
    given = search("a value that is equalled", {"best_primary_metric_value": 1.0}, results={})
    yield given | {"labels": (given["searched"] > 0.201).long()}
    given = search("labels without positives", results={"a": 1})
    yield given | {"labels": torch.zeros(30, dtype=torch.long)}
    given = search("labels without negatives", {"primary_metric": "accuracy_on_negatives"}, results={"a": 1})
    yield given | {"labels": torch.ones(30, dtype=torch.long)}
    yield search("results that are given", results={"centri_weight": 1.7, "threshold": 12, "other": 3})
    yield search("negative scores, the highest threshold", {"primary_metric": "threshold"}, low=-4.0, high=-1.0)
    given = search("negative scores, all labels true", low=-3.0, high=-1.0, granularity=10)
    yield given | {"labels": torch.ones(30, dtype=torch.long)}
    # Truncated, the lowest threshold is above the lowest score, and the highest one below the highest.
    given = search("truncation", {"primary_metric": "recall"}, granularity=1)
    yield given | {"searched": torch.tensor([-3.6, -2.4, 1.3, 2.7]), "labels": torch.tensor([1, 0, 0, 1])}
    given = search("truncation, precision", {"primary_metric": "precision"}, granularity=1)
    yield given | {"searched": torch.tensor([-3.6, -2.4, 1.3, 2.7]), "labels": torch.tensor([1, 0, 1, 1])}
    yield given | {
        "name": "search, nothing between",
        "searched": torch.tensor([-0.6, 0.4, 0.7]),
        "labels": torch.tensor([1, 0, 1]),
    }
    yield {"name": "experiment", "seed": seed % 1000}


def _turned(scores, granularity):
    return -scores.flip(0) + 0.26 / granularity


def _one_best(scores, labels, granularity, call):
    """Whether all thresholds with the highest F1 have the same counts; others may be equal but for rounding."""
    truth, best = labels == call.get("truth_label", 1), {}
    low, high = (int(side.item() * granularity) for side in (scores.min(), scores.max()))
    for step in range(low, high):
        above = (scores > step / granularity) != call.get("smaller_scores_better", False)
        chosen = above == bool(call.get("truth_label", 1))
        hits, both = int((chosen & truth).sum()), int(chosen.sum() + truth.sum())
        if hits:
            best.setdefault(Fraction(2 * hits, both), set()).add((hits, both))
    return not best or len(best[max(best)]) == 1


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "widths" in case:
        return _balls(case)
    if "points" in case:
        return _losses(case)
    if "features" in case:
        return _combined(case)
    if "sides" in case:
        return _scores(case)
    from hierarchy_transformers.evaluation import metrics

    if "predicted" in case:
        return _metrics(metrics.f1_score, case)
    if "at" in case:
        return _thresholds(metrics.evaluate_by_threshold, case)
    return _search(metrics.grid_search, case)


def _balls(case):
    from geoopt.manifolds import PoincareBall
    from hierarchy_transformers.models.hierarchy_transformer.hyperbolic import get_circum_poincareball

    balls = [get_circum_poincareball(width) for width in case["widths"]]
    return {"double": [ball.c for ball in balls], "kinds": [isinstance(ball, PoincareBall) for ball in balls]}


def _laid_out(item, layout):
    if layout == "turned":
        return item.T.contiguous().T
    if layout == "spread":
        return item.new_full((*item.shape[:-1], 2 * item.shape[-1]), 9.0)[..., ::2].copy_(item)
    return item.clone()


def _losses(case):
    from geoopt.manifolds import PoincareBall
    from hierarchy_transformers.losses import HyperbolicCentripetalLoss, HyperbolicClusteringLoss

    dtype = getattr(torch, case["dtype"])
    numbers, facts = [], []
    for kind, margin in zip((HyperbolicClusteringLoss, HyperbolicCentripetalLoss), case["margins"], strict=True):
        module = kind(PoincareBall(case["c"]), margin)
        for change in (None, *(case["later"] or [])):
            if change is not None:
                module.margin = change
                module.manifold = PoincareBall(case["c"] * 0.8)
            given = [_laid_out(item.to(dtype), case["layout"]) for item in case["points"]]
            for name, item in zip(NAMES, given, strict=True):
                item.requires_grad_(name in case["wanted"])
            before = [item.detach().clone() for item in given]
            told = dict(module.__dict__)
            loss = module(*given)
            if loss.requires_grad:
                (loss * 1.7).backward()
            numbers.append(
                [loss.detach(), *(torch.zeros_like(item) if item.grad is None else item.grad for item in given)]
            )
            facts += [str(loss.dtype), list(loss.shape), loss.requires_grad]
            facts.append(all(torch.equal(item.detach(), old) for item, old in zip(given, before, strict=True)))
            facts.append(told == module.__dict__)
        with torch.no_grad():
            numbers.append(module(*given))
            if kind is HyperbolicCentripetalLoss:
                numbers.append(module(given[0], given[1], None))
    return {("single" if dtype == torch.float32 else "double"): numbers, "facts": facts}


class _Model(torch.nn.Module):
    """Counts its calls."""

    def __init__(self, table):
        super().__init__()
        from geoopt.manifolds import PoincareBall

        self.table = torch.nn.Parameter(table)
        self.manifold = PoincareBall(1 / table.shape[1])
        self.calls = []

    def forward(self, features):
        self.calls.append(features["input_ids"].tolist())
        return {"sentence_embedding": 0.9 * torch.sin(3 * self.table[features["input_ids"]]), "other": None}


def _combined(case):
    from hierarchy_transformers.losses import HierarchyTransformerLoss

    dtype = getattr(torch, case["dtype"])
    model = _Model(case["table"].to(dtype))
    weights, margins = case["weights"], case["margins"]
    module = HierarchyTransformerLoss(model, weights[0], margins[0], weights[1], margins[1])
    if case.get("other"):
        module.cluster_loss = _Other(1.0)
        module.centri_loss = _Other(-2.0)
    numbers, facts, hooked = [], [], []
    for loss in (module.cluster_loss, module.centri_loss):
        loss.register_forward_hook(lambda module, given, found: hooked.append(type(module).__name__))
    for changed in (False, True) if case["later"] else (False,):
        if changed:
            module.cluster_weight, module.centri_weight = case["later"][:2]
            module.cluster_loss.margin, module.centri_loss.margin = case["later"][2:]
        model.calls.clear()
        items = [{"input_ids": item.clone()} for item in case["features"]]
        given = {"list": list, "tuple": tuple, "generator": iter}[case["kind"]](items)
        labels = torch.arange(6) if case["labels"] else None
        try:
            found = module(given, labels)
        except AssertionError:
            return {"refused": True}
        model.table.grad = None
        found["loss"].backward()
        numbers.append([found[name].detach() for name in ("loss", "cluster_loss", "centri_loss")] + [model.table.grad])
        facts += [
            sorted(found),
            [list(item.shape) for item in found.values()],
            [item.requires_grad for item in found.values()],
        ]
        facts += [sorted(hooked), list(model.calls), all(list(item) == ["input_ids"] for item in items)]
    return {("single" if dtype == torch.float32 else "double"): numbers, "facts": facts}


class _Other(torch.nn.Module):
    """Some loss of three sets of embeddings, in place of the package's."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, anchor, positive, negative):
        return (anchor * self.factor + positive.square() * negative).sum()


class _Encoder:
    def __init__(self, manifold, known):
        self.manifold, self.known, self.calls = manifold, known, []

    def encode(self, *, sentences, batch_size, convert_to_tensor):
        self.calls.append([list(sentences), batch_size, convert_to_tensor])
        return torch.stack([self.known[name] for name in sentences])


def _scores(case):
    from geoopt.manifolds import PoincareBall
    from hierarchy_transformers.evaluation import HierarchyTransformerEvaluator

    dtype = getattr(torch, case["dtype"])
    sides = [_laid_out(side.to(dtype), case["layout"]) for side in case["sides"]]
    names = [
        [f"{kind} {row}" for row in range(len(side))] for kind, side in zip(("child", "parent"), sides, strict=True)
    ]
    if case.get("same"):
        names[0], sides[0] = names[1], sides[1]
    known = {name: row for own, side in zip(names, sides, strict=True) for name, row in zip(own, side, strict=True)}
    evaluator = HierarchyTransformerEvaluator(
        *[list(own) for own in names], [1] * len(sides[0]), batch_size=case["size"]
    )
    encoder = _Encoder(PoincareBall(case["c"]), known)
    # Those that are given are not those that would be encoded.
    told = [0.8 * side if given else None for side, given in zip(sides, case["given"], strict=True)]
    before = [None if side is None else side.clone() for side in told]
    state = dict(vars(evaluator))
    found = evaluator.inference(encoder, case["weight"], *told)
    named = evaluator.inference(
        model=encoder, centri_weight=2 * case["weight"], child_embeds=told[0], parent_embeds=told[1]
    )
    alone = evaluator.inference(encoder, case["weight"])
    return {
        ("single" if dtype == torch.float32 else "double"): [found, named, alone],
        "facts": [str(found.dtype), list(found.shape)],
        "calls": sorted(encoder.calls[: len(encoder.calls) - 2], key=str) + sorted(encoder.calls[-2:], key=str),
        "unchanged": all(side is None or torch.equal(side, old) for side, old in zip(told, before, strict=True)),
        "state": dict(vars(evaluator)) == state and evaluator.child_entities == names[0],
    }


def _floats(found, names):
    return [all(type(found[name]) is float for name in names), sorted(found)]


def _metrics(function, case):
    observed = []
    for predictions, labels in case["predicted"]:
        given = [item.to(getattr(torch, case["kind"])) for item in (predictions, labels)]
        before = [item.clone() for item in given]
        found = function(*given) if case["truth"] == 1 and case["kind"] == "int64" else function(*given, case["truth"])
        numbers = [found[name] for name in ("precision", "recall", "f1")]
        same = all(torch.equal(item, old) for item, old in zip(given, before, strict=True))
        observed.append([numbers, _floats(found, ("precision", "recall", "f1")), same])
    # A prediction of booleans beside labels of ints.
    mixed = function(
        predictions=case["predicted"][2][0].bool(), labels=case["predicted"][2][1], truth_label=case["truth"]
    )
    return {"metrics": observed, "mixed": [mixed[name] for name in ("precision", "recall", "f1")]}


MEASURES = ("precision", "recall", "f1", "accuracy", "accuracy_on_negatives")


def _thresholds(function, case):
    observed = []
    scores = case["scores"].to(getattr(torch, case["dtype"]))
    for threshold in case["at"]:
        given = scores.clone(), case["labels"].clone()
        found = function(*given, threshold, **case["call"])
        kinds = [
            *_floats(found, MEASURES),
            found["threshold"] is threshold or type(found["threshold"]) is type(threshold),
        ]
        same = torch.equal(given[0], scores) and torch.equal(given[1], case["labels"])
        observed.append([found["threshold"], [found[name] for name in MEASURES], kinds, same])
    return {"thresholds": observed}


def _search(function, case):
    scores = case["searched"].to(getattr(torch, case["dtype"]))
    given = scores.clone(), case["labels"].clone()
    results = dict(case["results"]) if "results" in case else None
    call = dict(case["call"])
    if results is not None:
        call["preformatted_best_results"] = results
    found = function(*given, **call)
    observed = {
        "found": None if found is None else {name: float(value) for name, value in found.items()},
        # Quotients differ from products in their last digits.
        "threshold": None if found is None else found["threshold"].hex(),
        "types": None if found is None else {name: type(value).__name__ for name, value in found.items()},
        "same": found is results if results is not None and found is not None else None,
        "results": None if results is None else {name: float(value) for name, value in results.items()},
        "unchanged": torch.equal(given[0], scores) and torch.equal(given[1], case["labels"]),
    }
    # The other way round, and without settings: nothing of the first call shows.
    other = function(_turned(scores, case["call"].get("threshold_granularity", 100)), case["labels"], **case["call"])
    observed["other"] = None if other is None else {name: float(value) for name, value in other.items()}
    return observed
