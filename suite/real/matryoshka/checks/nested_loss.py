"""Prefixes, rounds of the decorator, and whole losses with gradients, draws and errors; then the experiment."""

import copy
import random
from itertools import product

import torch
from torch import nn

WORDS, WIDTH = 20, 10


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def descending(count, largest, smallest=1):
        drawn = torch.randperm(largest - smallest + 1, generator=generator)[:count]
        return sorted((smallest + drawn).tolist(), reverse=True)

    def prefix(name, *shape, dim=None, dtype="float64", grad=True, **more):
        dim = dim or integer(2, shape[-1] - 1)
        return {
            "kind": "prefix",
            "name": f"prefix, {name}",
            "tensor": normal(*shape),
            "dim": dim,
            "dtype": dtype,
            "grad": grad,
            **more,
        }

    for dtype, grad in product(("float32", "float64"), (False, True)):
        yield prefix(f"{dtype}{', gradient' * grad}", integer(2, 5), integer(6, 12), dtype=dtype, grad=grad)
    yield prefix("a vector", 9)
    yield prefix("three axes", 2, 9, 5)
    yield prefix("four axes", 2, 3, 1, 8)
    width = integer(3, 8)
    yield prefix("all of it", 4, width, dim=width)
    yield prefix("all of it, no gradient", 4, width, dim=width, grad=False)
    yield prefix("one number", 4, width, dim=1)
    zeros = prefix("zeros", 4, 8, grad=False, edge=True)
    zeros["tensor"][1] = 0
    zeros["tensor"][2, : zeros["dim"]] = 0
    yield zeros
    yield prefix("bfloat16", 3, 12, dtype="bfloat16", grad=False, edge=True)
    yield prefix("too few numbers", 2, width, dim=width + integer(1, 3), refused=True, edge=True)
    yield prefix("too few numbers, three axes", 2, 9, 5, dim=integer(6, 9), refused=True, edge=True)

    def rounds(name, count, calls, tokens=None, dtype="float64", dims=None, **more):
        outputs = []
        for place in range(calls):
            outputs.append({"sentence_embedding": normal(3 + place, 12)})
            if tokens is not None:
                outputs[-1]["token_embeddings"] = normal(3 + place, 2 + place, tokens)
        # Prefixes of one or two numbers may be near 0, which single precision amplifies in gradients.
        dims = dims or descending(count, 12, 3 if dtype == "float32" else 1)
        given = {"dims": dims, "outputs": outputs, "weights": normal(len(dims), calls).tolist(), "dtype": dtype}
        return {"kind": "rounds", "name": f"rounds, {name}", **given, **more}

    for count, calls in ((1, 1), (1, 3), (2, 1), (3, 2), (4, 4)):
        yield rounds(f"{count} of {calls} calls", count, calls, dtype=("float32", "float64")[count % 2])
    yield rounds("tokens", 3, 2, tokens=12)
    yield rounds("wider tokens", 3, 2, tokens=20, dtype="float32")
    yield rounds("the same features at each call", 3, 3, same=True)
    yield rounds("tokens, the same features", 2, 2, tokens=12, same=True)
    yield rounds("tokens too narrow", 1, 1, dims=[12], tokens=integer(5, 11), refused=True, edge=True)

    def drawn(count, step):
        """A seed of Python's generator whose sample comes in ascending order."""
        number = integer(0, 10**6)
        while (sample := random.Random(number).sample(range(count), step)) != sorted(sample):
            number += 1
        return number

    def loss(name, count=3, weights=True, dtype="float64", step=-1, dims=None, **more):
        dims = dims or descending(count, WIDTH, 3 if dtype == "float32" else 1)
        if weights is True:
            weights = [0.2 + 0.1 * integer(1, 25) for _ in dims]
        rows, options = (
            integer(2, 5),
            {
                "columns": 2,
                "passes": 1,
                "dropout": 0.0,
                "train": True,
                "grad": True,
                "tokens": False,
                "guide": False,
                "labels": False,
            },
        )
        options |= {key: more.pop(key) for key in list(more) if key in options}
        # In any order: the constructor sorts them.
        order = torch.randperm(len(dims), generator=generator).tolist()
        given = {
            "dims": [dims[place] for place in order],
            "weights": weights,
            "step": step,
            "draw": drawn(len(dims), min(max(step, 1), len(dims))),
            "features": [
                torch.randint(WORDS, (rows, 3 + column), generator=generator) for column in range(options["columns"])
            ],
            "labels": normal(rows) if options["labels"] else None,
            "seed": integer(0, 2**31),
            "dtype": dtype,
            "turns": [{}],
        }
        return {"kind": "loss", "name": f"loss, {name}"} | options | given | more

    for dtype, weights in product(("float32", "float64"), (None, True)):
        yield loss(f"{'weights' if weights else 'no weights'}, {dtype}", weights=weights, dtype=dtype)
    yield loss("one dim", 1)
    yield loss("all dims", WIDTH)
    yield loss("weights that are integers", weights=[integer(1, 3), integer(4, 6), integer(7, 9)])
    yield loss("three columns, labels", integer(2, 5), columns=3, labels=True)
    yield loss("one column, dropout", integer(2, 5), columns=1, dropout=0.5)
    yield loss("two passes over the features, dropout", integer(2, 5), passes=2, dropout=0.3)
    yield loss("tokens", integer(2, 5), tokens=True, dropout=0.3, dtype="float32")
    yield loss("tokens and labels", integer(2, 5), tokens=True, labels=True)
    yield loss("a guide", integer(2, 5), guide=True, passes=2)
    yield loss("evaluation", integer(2, 5), dropout=0.5, train=False, labels=True)
    yield loss("evaluation, no gradients", integer(2, 5), dropout=0.5, train=False, grad=False)
    yield loss("no gradients", integer(2, 5), dropout=0.5, grad=False)
    yield loss("two calls", integer(2, 5), dropout=0.3, turns=[{}, {"other": True}])
    for count, step in ((5, 1), (5, 2), (5, 3), (4, 3), (3, 3), (3, 5), (4, 0)):
        options = {"weights": step != 2 or None, "columns": integer(1, 3), "dropout": 0.3 * integer(0, 1)}
        yield loss(f"{step} of {count} dims", count, step=step, **options)
    yield loss("one of four dims, two calls", 4, step=1, turns=[{}, {"draw": integer(0, 10**6)}])
    yield {"name": "experiment", "seed_of_experiment": seed % 1000}

    yield loss("weights of 0 and below", weights=[0, -1.5, integer(2, 4)], edge=True)
    changed = {"matryoshka_dims": descending(2, WIDTH), "matryoshka_weights": [2, 0.3]}
    turns = [{}, {"matryoshka_weights": (5, 0.1, 2)}, changed, {"n_dims_per_step": 1, "draw": integer(0, 10**6)}]
    yield loss("settings that change", turns=[*turns, {"n_dims_per_step": -1}], labels=True, edge=True)
    yield loss("forward of the instance", integer(2, 5), instance=True, turns=[{}, {}], edge=True)
    for instance in (False, True):
        name = ", forward of the instance" * instance
        yield loss(
            f"an error of the inner loss{name}", instance=instance, fail=integer(1, 2), turns=[{}, {}], edge=True
        )
    dims = [WIDTH + integer(1, 4), 6, 2]
    yield loss("a dim too large", dims=dims, turns=[{}, {"matryoshka_dims": (10, 6, 2)}], edge=True)


def observe(case):
    if "seed_of_experiment" in case:
        from experiment import run

        return {"experiment": run(case["seed_of_experiment"])}
    numbers, facts = {"prefix": _prefix, "rounds": _rounds, "loss": _losses}[case["kind"]](case)
    name = "double" if case["dtype"] == "float64" else "losses" if case["kind"] == "loss" else "single"
    return {name: numbers, "facts": facts}


def _decorator(fn, dim):
    from sentence_transformers.losses.MatryoshkaLoss import ForwardDecorator

    decorator = ForwardDecorator(fn)
    decorator.set_dim(dim)
    return decorator


def _refused(call):
    try:
        call()
    except Exception as error:
        return isinstance(error, ValueError)
    return "nothing is raised"


def _prefix(case):
    given = case["tensor"].to(getattr(torch, case["dtype"])).clone().requires_grad_(case["grad"])
    kept = given.detach().clone()
    decorator = _decorator(None, case["dim"])
    if case.get("refused"):
        return [], [_refused(lambda: decorator.shrink(given))]
    result = decorator.shrink(given)
    facts = [str(result.dtype), list(result.shape), result.requires_grad, torch.equal(given.detach(), kept)]
    if case["dtype"] == "bfloat16":
        return [], [*facts, result.isfinite().all().item()]
    numbers = [result.detach()]
    if case["grad"]:
        slope = torch.linspace(-1, 2, result.numel(), dtype=result.dtype).view(result.shape)
        numbers.append(torch.autograd.grad((result * slope).sum(), given)[0])
    return numbers, facts


def _rounds(case):
    dtype = getattr(torch, case["dtype"])
    sources = [{name: item.to(dtype).requires_grad_() for name, item in output.items()} for output in case["outputs"]]
    seen, whole = [], []

    def fn(features):
        # As of a model, embeddings are no leaves.
        output = {name: item * 1.0 for name, item in sources[len(seen)].items()}
        whole.extend((item, item.detach().clone()) for item in output.values())
        seen.append(features)
        layers = [torch.ones(3, 2, 20), torch.ones(3, 2, 20)]
        return features | output | {"cls_token_embeddings": torch.ones(3, 20), "all_layer_embeddings": layers}

    decorator = _decorator(fn, case["dims"][0])
    if case.get("refused"):
        return [], [_refused(lambda: decorator({}))]
    shared = {"input_ids": torch.zeros(2), "attention_mask": torch.ones(2)}
    numbers, facts, total = [], [], 0.0
    for dim, weights in zip(case["dims"], case["weights"], strict=True):
        decorator.set_dim(dim)
        for place, weight in enumerate(weights):
            features = shared if case.get("same") else shared | {"input_ids": torch.full((2,), float(place))}
            output = decorator(features)
            facts.append([len(seen), sorted(output)])
            for name, item in output.items():
                if name in sources[place]:
                    facts.append([str(item.dtype), list(item.shape)])
                    slope = torch.linspace(0.5, 2, item.numel(), dtype=dtype).view_as(item)
                    total = total + weight * (item * slope).sum()
            embeddings = ("sentence_embedding", "token_embeddings")
            # Copies, because a later round may change the dict.
            numbers.append({name: output[name].detach().clone() for name in embeddings if name in output})
            facts.append({name: item for name, item in output.items() if name not in embeddings})
    facts.append(all(torch.equal(item.detach(), kept) for item, kept in whole))
    total.backward()
    numbers += [item.grad for output in sources for item in output.values()]
    return numbers, facts


class _FailureError(Exception):
    pass


class _Inner(nn.Module):
    """A loss with a term of each column and of each two columns; it notes what it was given."""

    def __init__(self, model, case, guide):
        super().__init__()
        self.model, self.case, self.guide = model, case, guide
        self.calls, self.failing_at = [], None

    def forward(self, sentence_features, labels):
        noted, embeddings = [], []
        self.calls.append(noted)
        if self.failing_at == len(self.calls):
            raise _FailureError
        for _ in range(self.case["passes"]):
            for features in sentence_features:
                output = self.model(features)
                item = output["sentence_embedding"]
                noted.append([item.shape[1], torch.equal(output["input_ids"], features["input_ids"])])
                if self.case["tokens"]:
                    noted.append(list(output["token_embeddings"].shape[::-1]))
                    item = item + 0.3 * output["token_embeddings"].cos().mean(dim=1)
                if self.guide is not None:
                    item = item * self.guide(features)["sentence_embedding"].norm(dim=1, keepdim=True)
                embeddings.append(item if labels is None else item * labels[:, None].to(item.dtype))
        total = 0.0
        for place, item in enumerate(embeddings):
            slope = torch.linspace(-1, 1 + place, item.numel(), dtype=item.dtype).view_as(item)
            total = total + (1.5 * item * slope).sin().sum()
            for earlier in embeddings[:place]:
                total = total + (1.5 * (item + 0.1) @ earlier.T).logsumexp(dim=1).mean()
        return total


def _losses(case):
    from encoder import encoder
    from sentence_transformers.losses.MatryoshkaLoss import MatryoshkaLoss

    torch.manual_seed(case["seed"])
    model = encoder(WORDS, 12, WIDTH, case["dropout"]).to(getattr(torch, case["dtype"])).train(case["train"])
    inner = _Inner(model, case, copy.deepcopy(model).eval() if case["guide"] else None)
    passes = []
    model[0].register_forward_hook(lambda *_: passes.append(1))
    if case.get("instance"):
        original = model.forward
        model.forward = lambda features: (
            original(features) | {"sentence_embedding": 2 * original(features)["sentence_embedding"]}
        )
    loss_of = MatryoshkaLoss(model, inner, case["dims"], case["weights"], case["step"])
    numbers, facts = [], []
    for turn, change in enumerate(case["turns"]):
        for name in ("matryoshka_dims", "matryoshka_weights", "n_dims_per_step"):
            if name in change:
                setattr(loss_of, name, change[name])
        inner.failing_at = case.get("fail") if turn == 0 else None
        inner.calls.clear()
        passes.clear()
        model.zero_grad()
        ids = [item.flip(1)[1:] if change.get("other") else item.clone() for item in case["features"]]
        features = [{"input_ids": item} for item in ids]
        # Each turn has labels of its own.
        kept = None if case["labels"] is None else case["labels"].roll(turn)
        labels = None if kept is None else kept.clone()
        random.seed(change.get("draw", case["draw"]))
        loss = None
        try:
            with torch.set_grad_enabled(case["grad"]):
                loss = loss_of(features, labels)
        except Exception as error:
            facts.append([isinstance(error, _FailureError), isinstance(error, ValueError)])
        facts.append([model.training, [sorted(item) for item in features]])
        facts.append(labels is None or torch.equal(labels, kept))
        if loss is not None:
            facts.append([str(loss.dtype), list(loss.shape), loss.requires_grad, len(passes)])
            # Dims of weight 0 may be left out.
            if 0 not in loss_of.matryoshka_weights:
                facts.append(sorted(inner.calls))
            numbers.append(loss.detach())
            if case["grad"]:
                loss.backward()
                numbers.append({name: item.grad.clone() for name, item in model.named_parameters()})
        # What the model returns by itself, with the full width again.
        with torch.no_grad():
            numbers.append(model(features[0])["sentence_embedding"])
    return numbers, facts
