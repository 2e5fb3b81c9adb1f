"""The cached loss: losses, caches, gradients, what is embedded when and how, and random states; then the experiment."""

import torch
from torch import nn

WORDS = 20


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def case(name, rows=7, columns=2, mini=3, lengths=(4, 6, 3, 5, 2), dtype="float32", **more):
        features = []
        for length in lengths[:columns]:
            ids = torch.randint(WORDS, (rows, length), generator=generator)
            mask = (torch.rand(rows, length, generator=generator) < 0.8).long()
            mask[:, 0] = 1
            features.append({"input_ids": ids, "attention_mask": mask})
            if more.get("factors"):
                features[-1]["factor"] = 0.5 + torch.rand(rows, generator=generator, dtype=torch.float64)
        return {
            "name": name,
            "features": features,
            "seed": int(torch.randint(2**31, (), generator=generator)),
            "scale": 20.0,
            "similarity": "cos_sim",
            "mini": mini,
            "dtype": dtype,
            "width": 5,
            "dropout": 0.0,
            "train": True,
            "grad": True,
            "upstream": "plain",
            "frozen": [],
            "later": [],
            "magnitude": 1.0,
            **more,
        }

    for dtype in ("float32", "float64"):
        yield case(f"pairs, {dtype}", dtype=dtype)
        yield case(f"triplets, {dtype}", columns=3, dtype=dtype)
        yield case(f"dropout, {dtype}", dropout=0.4, dtype=dtype)
    yield case("five columns, dropout", columns=5, rows=5, mini=2, dropout=0.3, dtype="float64")
    for rows, mini in ((2, 1), (6, 3), (7, 6), (7, 8), (40, 24)):
        name = f"{rows} rows in mini-batches of {mini}"
        yield case(name, rows=rows, mini=mini, columns=3, dropout=0.3, dtype="float64")
    scale = float(torch.empty(()).uniform_(2, 40, generator=generator))
    yield case("another scale", scale=scale, columns=3, dtype="float64")
    for similarity in ("dot_score", "distance", "askew", "relative"):
        name = f"similarity: {similarity}"
        yield case(name, similarity=similarity, scale=1.5, columns=3, dtype="float64", dropout=0.2)
    for upstream in ("scaled", "negative", "sum", "squared"):
        yield case(f"gradient from above: {upstream}", upstream=upstream, dropout=0.3, columns=3, dtype="float64")
    yield case("eval mode", train=False, dropout=0.5, dtype="float64")
    yield case("without gradients", grad=False, columns=3)
    yield case("without gradients, dropout", grad=False, dropout=0.4, dtype="float64")
    yield case("without gradients, eval mode", grad=False, dropout=0.4, train=False, rows=30, mini=10)
    yield case("other tensors in the dicts", factors=True, dtype="float64")
    yield case("default settings", rows=40, mini=32, default=True)

    def parts(name, sizes=(3, 3, 1), columns=2, width=4, dtype="float64", scale=4.0, similarity="cos_sim", **more):
        reps = [
            [torch.randn(size, width, generator=generator, dtype=torch.float64) for size in sizes]
            for _ in range(columns)
        ]
        return {
            "name": f"embeddings, {name}",
            "reps": reps,
            "mini": sizes[0],
            "dtype": dtype,
            "scale": scale,
            "similarity": similarity,
            **more,
        }

    yield parts("pairs")
    yield parts("pairs in single precision", dtype="float32")
    yield parts("triplets", columns=3)
    yield parts("one mini-batch", sizes=(6,), columns=4)
    yield parts("rows one by one", sizes=(1,) * 5, columns=3)
    yield parts("uneven", sizes=(5, 2), columns=3, scale=1, similarity="askew")
    yield parts("wide", sizes=(8, 3), width=32, scale=12.7)
    yield parts("without gradients", columns=3, grad=False)
    yield parts("similarities relative to all targets", columns=3, scale=2.5, similarity="relative")
    for name, more in {
        "plain": {},
        "triplets, dropout": {"columns": 3, "dropout": 0.5, "dtype": "float64"},
        "gradients disabled": {"dropout": 0.3, "disabled": True},
    }.items():
        yield case(f"hook, {name}", hook=True, weight=0.7, **more)
    yield {"name": "experiment", "seed_of_experiment": seed % 1000}

    for dropout in (0.0, 0.3):
        yield case(f"one pair, {dropout}", rows=1, mini=4, dropout=dropout, dtype="float64", edge=True)
    yield parts("one pair", sizes=(1,), edge=True)
    yield {"name": "hook without a cache", "refused": True, "edge": True}
    large = {"similarity": "dot_score", "edge": True}
    yield case("large scores", scale=40.0, magnitude=8.0, dtype="float64", columns=3, **large)
    yield parts("large scores", sizes=(4, 4, 2), scale=100.0, **large)
    yield case("a dict that serves twice", twice=True, columns=3, dropout=0.3, dtype="float64", edge=True)
    for train in (True, False):
        name = f"a layer in another mode, {train}"
        yield case(name, train=train, apart=True, dropout=0.4, dtype="float64", edge=True)
    yield case("gradients that were there before", before=True, dropout=0.2, dtype="float64", edge=True)
    frozen = ["1.linear.weight", "1.linear.bias"]
    yield case("a layer is frozen", frozen=frozen, dropout=0.3, dtype="float64", edge=True)
    later = [{"scale": 3.0}, {"mini_batch_size": 2}, {"other": True}, {"similarity_fct": "askew"}, {"grad": False}]
    yield case("settings that change", later=later, columns=3, dropout=0.3, dtype="float64", edge=True)
    later = [{"grad": True}, {"grad": False, "scale": 3.0}, {"mini_batch_size": 2}]
    yield case("again with gradients", grad=False, later=later, dropout=0.3, edge=True)
    yield parts("a scale of zero", scale=0.0, edge=True)


def observe(case):
    if "seed_of_experiment" in case:
        from experiment import run

        return {"experiment": run(case["seed_of_experiment"])}
    if "refused" in case:
        return {"refused": _refused()}
    if "reps" in case:
        numbers, facts = _of_embeddings(case)
    elif case.get("hook"):
        numbers, facts = _of_the_hook(case)
    else:
        numbers, facts = _of_forward(case)
    return {"double" if case["dtype"] == "float64" else "single": numbers, "facts": facts}


class _Watch(nn.Module):
    """Hands on what it is given; notes how many rows it had, whether gradients were enabled, and when they arrive."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, features):
        self.seen.append([*features["input_ids"].shape, torch.is_grad_enabled()])
        embedding = features["sentence_embedding"]
        if embedding.requires_grad:
            embedding.register_hook(lambda _: self.seen.append("a gradient arrives"))
        return features


def _model(case, watch):
    from encoder import BagOfWords, Layer
    from sentence_transformers import SentenceTransformer

    torch.manual_seed(case["seed"])
    words = BagOfWords(WORDS, case["width"])
    layer = Layer(case["width"], case["dropout"])
    model = SentenceTransformer(words, layer, _Last(case["magnitude"]), watch)
    model.register_forward_hook(lambda *_: watch.seen.append("the model was called"))
    model.to(getattr(torch, case["dtype"])).train(case["train"])
    if case.get("apart"):
        model[1].train(not case["train"])
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in case["frozen"])
        if case.get("before"):
            parameter.grad = torch.linspace(-1, 1, parameter.numel(), dtype=parameter.dtype).view_as(parameter)
    return model


class _Last(nn.Module):
    """Makes embeddings larger, each by its own factor if there is one."""

    def __init__(self, magnitude):
        super().__init__()
        self.magnitude = magnitude

    def forward(self, features):
        embedding = features["sentence_embedding"] * self.magnitude
        if "factor" in features:
            embedding = embedding * features["factor"][:, None].to(embedding.dtype)
        return features | {"sentence_embedding": embedding}


def _similarity(name, rows=None):
    from sentence_transformers import util

    def distance(a, b):
        return -(a[:, None] - b).square().sum(-1)

    def askew(a, b):
        weights = torch.arange(1, 1 + a.shape[1], dtype=a.dtype)
        return torch.tanh(a * weights) @ b.T + 0.3 * a.sum(1, keepdim=True) - 0.5 * b[:, 0].square()

    def relative(a, b):
        # Depends on all targets at once; its gradient needs its result, which is not contiguous.
        return torch.tanh((b - b.mean(0)) @ a.T).T

    chosen = {"distance": distance, "askew": askew, "relative": relative}.get(name) or getattr(util, name)
    if rows is None:
        return chosen

    def watched(a, b):
        rows.append([len(a), len(b)])
        return chosen(a, b)

    return watched


def _features(case, other=False):
    features = [{name: item.clone() for name, item in column.items()} for column in case["features"]]
    if case.get("twice"):
        features[1] = features[0]
    if other:
        features = [{name: item.flip(0)[1:] for name, item in column.items()} for column in reversed(features)]
    return features


def _nested(tensors):
    return [[item.detach().clone() for item in column] for column in tensors]


def _of_forward(case):
    from sentence_transformers.losses.CachedMultipleNegativesRankingLoss import CachedMultipleNegativesRankingLoss

    watch, rows = _Watch(), []
    model = _model(case, watch)
    if case.get("default"):
        loss_of = CachedMultipleNegativesRankingLoss(model)
    else:
        similarity = _similarity(case["similarity"], rows)
        loss_of = CachedMultipleNegativesRankingLoss(model, case["scale"], similarity, case["mini"])
    numbers, facts, grad = [], [], case["grad"]
    for change in ({}, *case["later"]):
        grad = change.get("grad", grad)
        for name in ("scale", "mini_batch_size"):
            setattr(loss_of, name, change.get(name, getattr(loss_of, name)))
        if "similarity_fct" in change:
            loss_of.similarity_fct = _similarity(change["similarity_fct"], rows)
        features = _features(case, change.get("other", False))
        kept = [{name: item.clone() for name, item in column.items()} for column in features]
        parameters = {name: item.detach().clone() for name, item in model.named_parameters()}
        before = {name: None if item.grad is None else item.grad.clone() for name, item in model.named_parameters()}
        cache = loss_of.cache
        watch.seen.clear()
        rows.clear()
        with torch.set_grad_enabled(grad):
            loss = loss_of(features, None)
        numbers.append([loss.detach().clone(), torch.rand(2, dtype=torch.float64)])
        facts.append([str(loss.dtype), list(loss.shape), loss.requires_grad, list(watch.seen)])
        facts.append(all(count <= loss_of.mini_batch_size for count, _ in rows))
        facts.append([len(column) for column in loss_of.random_states])
        facts.append(
            all(
                item.grad is before[name] or torch.equal(item.grad, before[name])
                for name, item in model.named_parameters()
            )
        )
        if grad:
            numbers.append(_nested(loss_of.cache))
            facts.append([[[str(item.dtype), list(item.shape)] for item in column] for column in loss_of.cache])
            watch.seen.clear()
            # Other random numbers are drawn in between, and the same ones as otherwise after it.
            torch.rand(5)
            state = torch.get_rng_state()
            _with_upstream(loss, case["upstream"], model).backward()
            facts.append([torch.equal(torch.get_rng_state(), state), list(watch.seen)])
            numbers.append(_nested(loss_of.cache))
        else:
            facts.append([loss_of.cache is cache])
        numbers.append({name: item.grad.clone() for name, item in model.named_parameters() if item.grad is not None})
        facts.append([item.grad is None for item in model.parameters()])
        facts.append([all(torch.equal(item.detach(), parameters[name]) for name, item in model.named_parameters())])
        facts.append([loss_of.scale, loss_of.mini_batch_size, loss_of.show_progress_bar])
        facts.append(
            [[module.training for module in loss_of.modules()], [item.requires_grad for item in model.parameters()]]
        )
        facts.append(
            [
                list(column) == list(old) and all(torch.equal(item, old[name]) for name, item in column.items())
                for column, old in zip(features, kept, strict=True)
            ]
        )
    return numbers, facts


def _with_upstream(loss, upstream, model):
    """An expression that contains the loss."""
    if upstream == "scaled":
        return 2.5 * loss
    if upstream == "negative":
        return -loss
    if upstream == "sum":
        # Another term of the loss, which depends on parameters by itself.
        return loss + 0.1 * sum(item.square().sum() for item in model.parameters())
    return loss**2 if upstream == "squared" else loss


def _of_embeddings(case):
    from sentence_transformers.losses.CachedMultipleNegativesRankingLoss import CachedMultipleNegativesRankingLoss

    rows = []
    similarity = _similarity(case["similarity"], rows)
    loss_of = CachedMultipleNegativesRankingLoss([None], case["scale"], similarity, case["mini"])
    dtype = getattr(torch, case["dtype"])

    def reps():
        return [[item.to(dtype, copy=True).requires_grad_() for item in column] for column in case["reps"]]

    given = reps()
    with torch.set_grad_enabled(case.get("grad", True)):
        plain = loss_of.calculate_loss(given)
    facts = [str(plain.dtype), list(plain.shape), plain.requires_grad, loss_of.cache is None]
    numbers = [plain.detach().clone()]
    if plain.requires_grad:
        (1.5 * plain).backward()
        numbers.append([[item.grad.clone() for item in column if item.requires_grad] for column in given])
    given = reps()
    cached = loss_of.calculate_loss_and_cache_gradients(given)
    facts += [str(cached.dtype), list(cached.shape), cached.requires_grad]
    facts.append([[[str(item.dtype), list(item.shape)] for item in column] for column in loss_of.cache])
    numbers += [cached.detach().clone(), _nested(loss_of.cache)]
    # From the number that is returned, nothing flows to embeddings.
    (100.0 * cached).backward()
    numbers.append(_nested(loss_of.cache))
    facts.append(
        [
            torch.equal(item.detach(), old.to(dtype))
            for column, olds in zip(given, case["reps"], strict=True)
            for item, old in zip(column, olds, strict=True)
        ]
    )
    facts.append(all(count <= case["mini"] for count, _ in rows))
    facts += [loss_of.scale, loss_of.mini_batch_size, loss_of.show_progress_bar]
    return numbers, facts


def _of_the_hook(case):
    from sentence_transformers.losses.CachedMultipleNegativesRankingLoss import (
        CachedMultipleNegativesRankingLoss,
        RandContext,
        _backward_hook,
    )

    watch = _Watch()
    model = _model(case, watch)
    loss_of = CachedMultipleNegativesRankingLoss(model, mini_batch_size=case["mini"])
    features = _features(case)
    loss_of.cache, loss_of.random_states = [], []
    for column in features:
        rows = len(column["input_ids"])
        sizes = [min(case["mini"], rows - start) for start in range(0, rows, case["mini"])]
        cached, states = [], []
        for size in sizes:
            torch.rand(3)
            states.append(RandContext())
            cached.append(torch.randn(size, case["width"], dtype=getattr(torch, case["dtype"])))
        loss_of.cache.append(cached)
        loss_of.random_states.append(states)
    kept, state = _nested(loss_of.cache), torch.get_rng_state()
    weight = torch.tensor(case["weight"], dtype=getattr(torch, case["dtype"]))
    found = []
    for _ in range(2):
        with torch.set_grad_enabled(not case.get("disabled", False)):
            found += [_backward_hook(weight, features, loss_of) is None, torch.is_grad_enabled()]
    numbers = {name: item.grad.clone() for name, item in model.named_parameters()}
    found.append([weight.item(), [item.requires_grad for item in model.parameters()], loss_of.mini_batch_size])
    found.append(
        [
            all(torch.equal(item, old[name]) for name, item in column.items())
            for column, old in zip(features, case["features"], strict=True)
        ]
    )
    unchanged = [
        torch.equal(item, old)
        for column, olds in zip(loss_of.cache, kept, strict=True)
        for item, old in zip(column, olds, strict=True)
    ]
    return numbers, [found, list(watch.seen), unchanged, torch.equal(torch.get_rng_state(), state)]


def _refused():
    from sentence_transformers.losses.CachedMultipleNegativesRankingLoss import (
        CachedMultipleNegativesRankingLoss,
        _backward_hook,
    )

    refused, features = [], [{"input_ids": torch.ones(2, 3, dtype=torch.long)}] * 2
    for cache, states in ((None, []), ([], None), (None, None)):
        loss_of = CachedMultipleNegativesRankingLoss([None])
        loss_of.cache, loss_of.random_states = cache, states
        try:
            _backward_hook(torch.tensor(1.0), features, loss_of)
            refused.append("nothing is raised")
        except Exception as error:
            refused.append(isinstance(error, AssertionError))
    return refused
