"""Rounds of the decorator, prefixes, and whole losses with gradients, draws and errors; then the experiment."""

import copy
import random
from types import MethodType

import torch
from torch import nn

WORDS = 20


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def shrunk(name, tensor, dim, dtype="float32", **more):
        return {"kind": "shrink", "name": f"prefix, {name}", "tensor": tensor, "dim": dim, "dtype": dtype, **more}

    for dtype in ("float32", "float64", "float16", "bfloat16"):
        yield shrunk(dtype, normal(5, 12), 7, dtype)
    yield shrunk("in half precision, large", 200 * normal(3, 40), 30, "float16")
    yield shrunk("all of it", normal(4, 6), 6, "float64")
    yield shrunk("all but one", normal(4, 6), 5, "float64")
    yield shrunk("one number", normal(4, 6), 1, "float64")
    yield shrunk("width one", normal(4, 1), 1, "float64")
    yield shrunk("one axis", normal(9), 4, "float64")
    yield shrunk("three axes", normal(3, 4, 10), 3, "float64")
    yield shrunk("three axes, more tokens than numbers", normal(2, 9, 5), 4, "float64")
    yield shrunk("four axes", normal(2, 3, 1, 8), 5, "float64")
    yield shrunk("64 wide", normal(3, 64), 63)
    yield shrunk("large", 900 * normal(3, 8).clamp(-1, 1), 5, "float64")
    yield shrunk("small", normal(3, 8).sign() * 1e-3, 5, "float64")
    yield shrunk("small, of one number", normal(3, 8).sign() * 1e-3, 1, "float64")
    tensor = normal(4, 8)
    tensor[:, :5] = normal(4, 5).sign() * 1e-3
    tensor[:, 5:] *= 1000 / tensor[:, 5:].abs().amax()
    yield shrunk("small before large", tensor, 5, "float64")
    yield shrunk("small, in half precision", normal(3, 8).sign() * 1e-4, 5, "float16")
    # Prefixes that are contiguous already, and could be divided in place.
    for name, shape, dim in (("all of it", (3, 6), 6), ("one row", (1, 6), 4), ("one axis", (9,), 4)):
        yield shrunk(f"gradients off, {name}", normal(*shape), dim, "float64", grad=False, mode=False)
    tensor = normal(4, 8)
    tensor[1] = 0
    tensor[2, :3] = 0
    for dtype in ("float32", "float64", "bfloat16"):
        yield shrunk(f"zeros, {dtype}", tensor, 3, dtype, grad=False)
    for layout in ("transposed", "expanded", "spread"):
        yield shrunk(layout, normal(6, 8), 5, "float64", layout=layout)
        yield shrunk(f"{layout}, three axes", normal(3, 6, 8), 5, "float64", layout=layout)
    for width, dim in ((4, 5), (1, 2), (3, 64)):
        yield shrunk(f"{dim} of {width}", normal(2, width), dim, refused=True)
    yield shrunk("more than there are, of three axes", normal(2, 9, 5), 7, refused=True)

    def rounds(name, dims, calls=2, width=12, tokens=None, dtype="float64", fewer=None, **more):
        return {
            "kind": "rounds",
            "name": f"rounds, {name}",
            "dims": list(dims),
            "outputs": [
                {"sentence": normal(3 + place, width)}
                | ({} if tokens is None else {"tokens": normal(3 + place, 2 + place, tokens)})
                for place in range(calls)
            ],
            "calls": [calls, *(fewer or [calls] * (len(dims) - 1))],
            "weights": normal(len(dims), calls).tolist(),
            "dtype": dtype,
            **more,
        }

    yield rounds("one", [7])
    yield rounds("one of all", [12])
    yield rounds("two", [12, 5])
    yield rounds("of single precision", [10, 6, 3], dtype="float32")
    yield rounds("down to one", range(12, 0, -1))
    yield rounds("one call", [12, 8, 2], calls=1)
    yield rounds("five calls", [11, 8, 2], calls=5)
    yield rounds("tokens", [12, 8, 2], tokens=12)
    yield rounds("wider tokens", [12, 8, 2], tokens=20)
    yield rounds("narrower tokens", [9, 8, 2], tokens=9, dtype="float32")
    yield rounds("tokens of one number", [1], tokens=1)
    yield rounds("fewer calls", [12, 9, 4, 1], calls=4, fewer=[2, 4, 1])
    yield rounds("none in between", [12, 9, 4], calls=3, fewer=[0, 3])
    small = rounds("small before large", [12, 6, 3], tokens=12)
    for output in small["outputs"]:
        for item in output.values():
            item[..., :3] = 2e-4 * item[..., :3].sign()
            item[..., 3:] = 900 * item[..., 3:].sign()
    yield small
    yield rounds("gradients off", [12, 5], tokens=12, grad=False)
    yield rounds("the same features", [12, 9, 4], calls=3, same=True)
    yield rounds("sentences too narrow", [13], refused=True)
    yield rounds("tokens too narrow", [12], tokens=11, refused=True)

    def whole(name, dims, weights=None, rows=5, columns=2, dtype="float64", **more):
        return {
            "kind": "loss",
            "name": f"loss, {name}",
            "dims": dims,
            "weights": weights,
            "step": -1,
            "features": [
                {"input_ids": torch.randint(WORDS, (rows, 3 + column), generator=generator), "row": normal(rows)}
                for column in range(columns)
            ],
            "seed": int(torch.randint(2**31, (), generator=generator)),
            "dtype": dtype,
            "width": 10,
            "dropout": 0.0,
            "train": True,
            "grad": True,
            "passes": 1,
            "later": [],
            **more,
        }

    def drawn(count, step):
        """A seed of Python's generator whose sample comes in ascending order."""
        start = int(torch.randint(10**6, (), generator=generator))
        for number in range(start, start + 10**5):
            sample = random.Random(number).sample(range(count), step)
            if sample == sorted(sample):
                return number
        raise AssertionError("no such seed")

    for dtype in ("float32", "float64"):
        yield whole(f"three dims, {dtype}", [10, 6, 2], dtype=dtype)
        yield whole(f"weights, {dtype}", [2, 10, 6], [0.5, 2.7, 1.25], dtype=dtype)
    yield whole("one dim", [4], [3.0])
    yield whole("one dim of all", [10])
    yield whole("dims of one", [1], [0.3])
    yield whole("ten dims", list(range(1, 11)), [0.1 * n for n in range(1, 11)])
    yield whole("weights of any sign", [9, 5, 3], [-1.5, 0, 100])
    yield whole("weights of zero", [9, 5], [0, 0])
    yield whole("the whole is not there", [3, 7, 5], [1.0, 2.0, 4.0])
    yield whole("one row", [10, 4, 1], [1, 2, 3], rows=1)
    yield whole("many rows", [10, 4, 1], [1, 2, 3], rows=40)
    yield whole("one column", [10, 4, 1], [1, 2, 3], columns=1)
    yield whole("five columns", [10, 4, 1], [1, 2, 3], columns=5)
    yield whole("dropout", [10, 6, 2], [1, 2, 3], dropout=0.5)
    yield whole("evaluation", [10, 6, 2], [1, 2, 3], dropout=0.5, train=False)
    yield whole("no gradients", [10, 6, 2], [1, 2, 3], dropout=0.5, grad=False)
    yield whole("two passes over the features", [10, 6, 2], [1, 2, 3], passes=2, dropout=0.3)
    yield whole("another model", [10, 6, 2], [1, 2, 3], other=True)
    yield whole("a tuple, and labels", [10, 6, 2], [1, 2, 3], labels=4, tuple=True)
    yield whole("labels of whole numbers", [10, 6, 2], [1, 2, 3], labels=5, whole=True)
    yield whole("tokens", [6, 3], [1, 2], tokens=True, dtype="float32")
    yield whole("token embeddings alone", [6, 3], [1, 2], tokens=True)
    yield whole("a forward of the instance", [10, 6, 2], [1, 2, 3], replaced=True)
    yield whole("a bound forward of the instance", [10, 6, 2], [1, 2, 3], replaced="bound")
    # A root keeps its result for the gradient.
    yield whole("losses that are roots", [10, 6, 2], root=True, later=[{"matryoshka_weights": [1.5, 2, -3]}])
    for count, step in ((1, 1), (2, 1), (5, 1), (5, 2), (5, 3), (5, 4), (5, 5), (5, 6), (5, 0), (5, -1), (4, -3)):
        dims = [10, 8, 5, 3, 1][:count]
        weights = [0.5, 2, 4, -1, 8][:count]
        yield whole(f"{step} of {count} dims", dims, weights, step=step, draw=drawn(count, min(max(step, 1), count)))
    for place in range(4):
        # Some seeds draw other places than the first.
        yield whole(f"one of five, {place}", [9, 7, 5, 3, 1], [1, 2, 4, 8, 16], step=1, draw=drawn(5, 1) + place)
    later = [
        {"matryoshka_weights": (5, 0.1, 2)},
        {"matryoshka_dims": [8, 7, 3]},
        {"matryoshka_dims": (9, 1), "matryoshka_weights": [2, 3]},
        {"other data": True},
        {"n_dims_per_step": 1, "draw": drawn(2, 1)},
        {"n_dims_per_step": 0},
    ]
    yield whole("settings that change", [10, 6, 2], [1, 2, 3], later=later)
    yield whole("again", [10, 6, 2], [1, 2, 3], later=[{}, {"grad": False}, {"grad": True}], dropout=0.4)
    yield whole("parameters that change", [10, 6, 2], [1, 2, 3], later=[{"move": 0.5}, {"move": -1.0}])
    yield whole("an inner loss that changes", [10, 6, 2], [1, 2, 3], later=[{"inner": 2.0}, {}])
    for replaced in (False, True, "bound"):
        more = {"replaced": replaced, "later": [{}]}
        yield whole(f"an error of the inner loss, {replaced}", [10, 6, 2], fail="inner", **more)
        yield whole(f"an error at the second dim, {replaced}", [10, 6, 2], fail="second", **more)
        yield whole(f"a ValueError of the inner loss, {replaced}", [10, 6, 2], fail="value", **more)
        yield whole(f"an interruption of the inner loss, {replaced}", [10, 6, 2], fail="interrupt", **more)
        yield whole(f"an error of the model, {replaced}", [10, 6, 2], fail="model", **more)
        yield whole(f"a dim too many, {replaced}", [11, 6, 2], fail="wide", **more)
    yield {"name": "experiment", "seed_of_experiment": seed % 1000}


def observe(case):
    if "seed_of_experiment" in case:
        from experiment import run

        return {"experiment": run(case["seed_of_experiment"])}
    numbers, facts = {"shrink": _shrunk, "rounds": _rounds, "loss": _losses}[case["kind"]](case)
    name = {"float64": "double", "float32": "single"}.get(case["dtype"], "half")
    return {name: numbers, "facts": facts}


def _decorator(fn=None):
    from sentence_transformers.losses.MatryoshkaLoss import ForwardDecorator

    return ForwardDecorator(fn)


def _raised(call):
    try:
        call()
    except Exception as error:
        return isinstance(error, ValueError)
    return "nothing is raised"


def _laid_out(item, layout):
    if layout == "transposed":
        return item.mT.contiguous().mT
    if layout == "expanded":
        return item[:1].clone().expand_as(item)
    if layout == "spread":
        return item.new_zeros(*item.shape[:-1], 2 * item.shape[-1])[..., ::2].copy_(item)
    return item.clone()


def _shrunk(case):
    given = _laid_out(case["tensor"].to(getattr(torch, case["dtype"])), case.get("layout"))
    kept = given.clone()
    decorator = _decorator()
    decorator.set_dim(case["dim"])
    facts = []
    if case.get("refused"):
        return [], [*facts, _raised(lambda: decorator.shrink(given)), torch.equal(given, kept)]
    wanted = case.get("grad", True) and given.dtype.itemsize >= 4
    if wanted:
        given.requires_grad_()
    with torch.set_grad_enabled(case.get("mode", True)):
        result = decorator.shrink(given)
    facts += [str(result.dtype), list(result.shape), result.requires_grad]
    numbers = [result.detach().double()]
    if wanted:
        weights = torch.linspace(-1, 2, result.numel(), dtype=torch.float64).view(result.shape)
        (result.double() * weights).sum().backward()
        numbers.append(given.grad.double())
    facts.append(torch.equal(given.detach(), kept))
    with torch.no_grad():
        result.zero_()
    facts.append(torch.equal(given.detach(), kept))
    return numbers, facts


def _rounds(case):
    dtype = getattr(torch, case["dtype"])
    marker = object()
    grad = case.get("grad", True)
    sources = [
        {name: item.to(dtype).requires_grad_(grad) for name, item in output.items()} for output in case["outputs"]
    ]
    # As of a model, embeddings are no leaves; they are noted, to see whether they stay what they are.
    embeddings, seen = [], []

    def fn(features):
        place = len(seen)
        seen.append(features)
        output = {"sentence_embedding": sources[place]["sentence"] * 1.0}
        if "tokens" in sources[place]:
            output["token_embeddings"] = sources[place]["tokens"] * 1.0
        # What is none of the two, whatever it is called.
        other = {"marker": marker, "mask": torch.ones(3), "image_embedding": torch.ones(3, 20)}
        other |= {"word_embeddings": torch.ones(3, 2, 20), "all_layer_embeddings": [torch.ones(3, 2, 20)]}
        embeddings.append((other, {name: (item, item.detach().clone()) for name, item in output.items()}))
        return output | other

    decorator = _decorator(fn)
    if case.get("refused"):
        decorator.set_dim(case["dims"][0])
        return [], [_raised(lambda: decorator({}))]
    numbers, facts, total = [], [], 0.0
    shared = {"input_ids": torch.zeros(2)}
    given = []
    for dim, calls, weights in zip(case["dims"], case["calls"], case["weights"], strict=True):
        decorator.set_dim(dim)
        for place in range(calls):
            features = shared if case.get("same") else {"input_ids": torch.full((2,), place), "mask": torch.zeros(3)}
            given.append(features)
            with torch.set_grad_enabled(grad):
                output = decorator(features)
            facts += [len(seen), sorted(output)]
            facts += [output.get(name) is item for name, item in embeddings[place][0].items()]
            for name in ("sentence_embedding", "token_embeddings"):
                if name in output:
                    item = output[name]
                    facts.append([str(item.dtype), list(item.shape)])
                    numbers.append(item.detach().clone())
                    slope = torch.linspace(0.5, 2, item.numel(), dtype=dtype).view_as(item)
                    total = total + weights[place] * (item * slope).sum()
    facts += [one is other for one, other in zip(seen, given, strict=False)]
    facts += [torch.equal(item.detach(), old) for _, output in embeddings for item, old in output.values()]
    if not grad:
        return numbers, facts
    total.backward()
    numbers += [item.grad.clone() for output in sources for item in output.values()]
    return numbers, facts


class _FailureError(Exception):
    pass


class _FailureOfValueError(ValueError):
    pass


class _Interruption(BaseException):
    """As KeyboardInterrupt, it is no Exception."""


class _Watch(nn.Module):
    """Hands on what it is given, and counts; fails when it is told to."""

    def __init__(self):
        super().__init__()
        self.seen, self.failure = [], None

    def forward(self, features):
        self.seen.append(list(features["input_ids"].shape))
        if self.failure is not None:
            raise self.failure
        return features


class _Inner(nn.Module):
    """A loss with a term of each column and of each two columns; it notes what it was given."""

    def __init__(self, model, case, other=None):
        super().__init__()
        self.model, self.case, self.other = model, case, other
        self.calls, self.scale, self.failing_at, self.failure = [], 1.5, None, None

    def forward(self, sentence_features, labels):
        self.calls.append([sentence_features, labels])
        if self.failing_at == len(self.calls):
            raise self.failure
        embeddings, noted = [], []
        for _ in range(self.case["passes"]):
            for features in sentence_features:
                output = self.model(features)
                noted.append([list(output["sentence_embedding"].shape), output["input_ids"] is features["input_ids"]])
                embeddings.append(output["sentence_embedding"])
                if self.case.get("tokens"):
                    noted.append(list(output["token_embeddings"].shape))
                    embeddings[-1] = embeddings[-1] + 0.3 * output["token_embeddings"].cos().mean(dim=1)
                if self.other is not None:
                    whole = self.other(features)["sentence_embedding"]
                    noted.append(list(whole.shape))
                    embeddings[-1] = embeddings[-1] * whole.norm(dim=1, keepdim=True)
        self.calls[-1].append(noted)
        total = 0.0
        for place, item in enumerate(embeddings):
            slope = torch.linspace(-1, 1 + place, item.numel(), dtype=item.dtype).view_as(item)
            total = total + (self.scale * item * slope).sin().sum()
            for earlier in embeddings[:place]:
                scores = self.scale * (item + 0.1) @ earlier.T
                total = total + scores.logsumexp(dim=1).mean()
        return (1 + total.square()).sqrt() if self.case.get("root") else total


def _features(case, other):
    features = [{name: item.clone() for name, item in column.items()} for column in case["features"]]
    if other:
        features = [{name: item.flip(0)[1:] for name, item in column.items()} for column in features]
    return tuple(features) if case.get("tuple") else features


def _labels(case):
    if "labels" not in case:
        return None
    return torch.arange(case["labels"]) if case.get("whole") else torch.linspace(0.5, 2, case["labels"])


def _model(case):
    from encoder import Mean, Tokens
    from sentence_transformers import SentenceTransformer

    watch = _Watch()
    modules = (Tokens(WORDS, 12), watch, Mean(12, case["width"], case["dropout"]))
    return SentenceTransformer(*modules).to(getattr(torch, case["dtype"])).train(case["train"]), watch


def _losses(case):
    from sentence_transformers.losses.MatryoshkaLoss import MatryoshkaLoss

    torch.manual_seed(case["seed"])
    model, watch = _model(case)
    other = copy.deepcopy(model) if case.get("other") else None
    if case.get("replaced"):
        original = model.forward

        def instead(features):
            output = original(features)
            return output | {"sentence_embedding": output["sentence_embedding"] * 2 + 0.1}

        model.forward = (
            MethodType(lambda _, features: instead(features), model) if case["replaced"] == "bound" else instead
        )
    inner = _Inner(model, case, other)
    loss_of = MatryoshkaLoss(model, inner, case["dims"], case["weights"], case["step"])
    hooked = []
    inner.register_forward_hook(lambda *_: hooked.append(len(inner.calls)))
    forward = model.forward
    numbers, facts, grad = [], [], case["grad"]
    fail = case.get("fail")
    moved = False
    for turn, change in enumerate(({}, *case["later"])):
        grad = change.get("grad", grad)
        moved = change.get("other data", moved)
        inner.scale = change.get("inner", inner.scale)
        for name in ("matryoshka_dims", "matryoshka_weights", "n_dims_per_step"):
            if name in change:
                setattr(loss_of, name, change[name])
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(change.get("move", 0.0) * torch.rand_like(parameter))
        if fail == "wide" and turn == 1:
            loss_of.matryoshka_dims = (10, 6, 2)
        failure = {"interrupt": _Interruption, "value": _FailureOfValueError}.get(fail, _FailureError)("of the case")
        watch.failure = failure if fail == "model" and turn == 0 else None
        inner.failing_at = {"inner": 1, "second": 2, "interrupt": 2, "value": 2}.get(fail) if turn == 0 else None
        inner.failure = failure
        watch.seen.clear()
        inner.calls.clear()
        hooked.clear()
        model.zero_grad()
        features = _features(case, moved)
        kept = [dict(column) for column in features]
        labels = _labels(case)
        settings = [loss_of.matryoshka_dims, loss_of.matryoshka_weights, loss_of.n_dims_per_step]
        parameters = [item.detach().clone() for item in model.parameters()]
        draw = change.get("draw", case.get("draw", case["seed"]))
        random.seed(draw)
        state = random.getstate()
        loss = None
        try:
            with torch.set_grad_enabled(grad):
                try:
                    loss = loss_of(features, labels)
                finally:
                    facts.append(torch.is_grad_enabled())
        except (Exception, _Interruption) as error:
            facts.append([error is failure, isinstance(error, ValueError)])
        facts.append([random.getstate() == state, random.random()])
        facts.append([model.forward == forward, [item.training for item in loss_of.modules()]])
        now = [loss_of.matryoshka_dims, loss_of.matryoshka_weights, loss_of.n_dims_per_step]
        facts.append(all(one is other for one, other in zip(settings, now, strict=True)))
        facts.append([list(item) for item in settings[:2]] + settings[2:])
        facts.append([len(inner.calls), len(watch.seen), list(watch.seen), list(hooked)])
        facts.append([one is features and two is labels for one, two, *_ in inner.calls])
        facts.append([rest for _, _, *rest in inner.calls])
        facts.append(labels is None or torch.equal(labels, _labels(case)))
        facts.append(
            [
                list(column) == list(old) and all(column[name] is item for name, item in old.items())
                for column, old in zip(features, kept, strict=True)
            ]
        )
        facts.append([torch.equal(item, old) for item, old in zip(model.parameters(), parameters, strict=True)])
        facts.append([item.grad is None for item in model.parameters()])
        numbers.append(torch.rand(2, dtype=torch.float64))
        if loss is None:
            continue
        facts.append([isinstance(loss, torch.Tensor), str(loss.dtype), list(loss.shape), loss.requires_grad])
        numbers.append(loss.detach().clone())
        if grad:
            loss.backward()
            numbers.append({name: item.grad.clone() for name, item in model.named_parameters()})
        # What the model returns by itself, with the full width again.
        with torch.no_grad():
            numbers.append(model(features[0])["sentence_embedding"])
    return numbers, facts
