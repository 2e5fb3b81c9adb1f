"""Approximate ranks, losses, gradients and the model's inputs, over lists, labels and settings; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    for double, (rows, columns) in product((False, True), ((1, integer(2, 6)), (integer(2, 4), integer(3, 6)))):
        mask = torch.arange(columns) < torch.tensor([integer(1, columns) for _ in range(rows)])[:, None]
        mask[integer(0, rows - 1)] = True
        scores = normal(rows, columns)
        given = {"scores": scores if double else scores.float(), "mask": mask, "weights": normal(rows, columns)}
        name = f"ranks, {'one query' if rows == 1 else 'queries'}, {'double' if double else 'single'}"
        yield given | {"name": name, "alphas": [uniform(0.3, 3.0), uniform(1.0, 5.0)]}
    columns = integer(4, 6)
    mask = torch.rand(3, columns, generator=generator) < 0.6
    mask[:, 0] = True
    mask[0, 1:3] = torch.tensor([False, True])
    given = {"scores": normal(3, columns), "mask": mask, "weights": normal(3, columns)}
    yield given | {"name": "ranks, gaps in the mask", "alphas": [uniform(0.3, 3.0)]}

    def loss(name, sizes=None, labels="real", scale=1.0, dtype="float32", **more):
        sizes = sizes or [integer(2, 6) for _ in range(integer(2, 4))]
        wanted = []
        for size in sizes:
            if labels == "real":
                wanted.append(normal(size).float())
            elif labels == "alike":
                wanted.append(torch.full((size,), uniform(-1.0, 1.0)))
            elif labels == "integers":
                wanted.append(torch.randint(-2, 3, (size,), generator=generator))
            elif labels == "close":
                base = uniform(0.5, 1.0) * (1000.0 if len(wanted) % 2 else 1.0)
                wanted.append((base * (1 + 2e-6 * torch.randperm(size, generator=generator))).float())
            elif labels == "large integers":
                wanted.append(integer(200_000, 900_000) + torch.randint(3, (size,), generator=generator))
            elif labels == "binary":
                wanted.append((torch.rand(size, generator=generator) < 0.4).float())
            else:
                wanted.append(torch.randint(-2, 2, (size,), generator=generator) / 2)
        return {
            "name": name,
            "sizes": sizes,
            "labels": wanted,
            "scores": (scale * normal(sum(sizes))).to(getattr(torch, dtype)),
            "again": normal(sum(sizes)).float(),
            "settings": {"alpha": uniform(0.4, 4.0)},
            "dtype": dtype,
            "steps": [],
            **more,
        }

    yield loss("usual settings", settings={})
    yield loss("usual settings, ties", labels="ties", settings={})
    for labels in ("real", "ties", "binary", "integers", "alike"):
        yield loss(f"{labels} labels", labels=labels)
        yield loss(f"{labels} labels, one query", [integer(4, 7)], labels)
    yield loss("one document in one query", [1, integer(3, 5), 1])
    yield loss("lists that grow", [2, 4, 7], "ties")
    yield loss("lists that shrink", [6, 3, 2], "ties")
    yield loss("a long list", [integer(15, 20), integer(8, 12)])
    for name in ("Sigmoid", "Tanh", "centred"):
        yield loss(f"activation {name}", activation=name, scale=2.0)
    for size in (1, 2, integer(3, 5), 100, -1, -integer(2, 5)):
        name = {1: "1", 2: "2", 100: "100", -1: "-1"}.get(size, "some" if size > 0 else "negative")
        settings = {"alpha": uniform(0.4, 4.0), "mini_batch_size": size}
        yield loss(f"mini-batches of {name}", [3, 2, integer(3, 5)], settings=settings, labels="ties")
    settings = {"alpha": uniform(0.4, 4.0), "mini_batch_size": integer(2, 4)}
    yield loss("prompt", prompt="find: ", settings=settings)
    yield loss("task", task="ranking", settings=settings, activation="centred")
    yield loss("prompt and task", prompt="find: ", task="ranking", positional=True)
    yield loss("prompt and task, both empty", prompt="", task="", evaluating=True)
    yield loss("evaluating", evaluating=True, settings={"alpha": uniform(0.4, 4.0), "mini_batch_size": 3})
    yield loss("settings that change", labels="ties", steps=["alpha", "mini_batch_size", "activation_fn"])
    yield loss("settings that change back", steps=["activation_fn", "alpha", "mini_batch_size"], activation="Tanh")
    yield loss("labels that nearly agree", [integer(3, 6), integer(3, 6)], "close")
    yield loss("large labels", [integer(3, 6), integer(3, 6)], "large integers")
    yield loss("activation of a vector", activation="softmax", scale=2.0)
    yield {"name": "experiment", "seed": seed % 1000}

    yield loss("scores in the hundreds", scale=300.0, edge=True)
    yield loss("scores in the hundreds, ties", labels="ties", scale=300.0, edge=True)
    given = normal(2, 4).float() * 300
    yield {
        "name": "ranks, scores in the hundreds",
        "scores": given,
        "mask": torch.ones(2, 4, dtype=torch.bool),
        "weights": normal(2, 4),
        "alphas": [uniform(0.5, 2.0)],
        "edge": True,
    }
    for dtype in ("float16", "float64"):
        yield loss(f"scores in {dtype}", dtype=dtype, edge=True, activation="Tanh")
    for wrong in ("a tensor", "one input", "three inputs", "a label too many", "a label too few", "exchanged"):
        sizes = [3, 3] if wrong == "a tensor" else [2, 3, 4]
        yield loss(wrong, sizes, edge=True, wrong=wrong)
    yield loss("no labels of one query", [2, 3, 4], edge=True, wrong="no labels of one query")
    yield loss("hooks", edge=True, hooked=True, activation="Tanh")
    for dtype in ("float16", "float64"):
        yield loss(f"the precision of the activation, {dtype}", dtype=dtype, edge=True, activation="bits")


class _Model(torch.nn.Module):
    """A model that knows the score of each pair, and notes what it is given."""

    def __init__(self, scores, pairs):
        super().__init__()
        self.num_labels, self.device, self.given = 1, torch.device("cpu"), []
        self.scores = torch.nn.Parameter(scores.clone())
        self.places = {pair: place for place, pair in enumerate(pairs)}

    def preprocess(self, pairs, prompt=None, task=None):
        self.given.append([[list(pair) for pair in pairs], prompt, task])
        return {"places": torch.tensor([self.places[tuple(pair)] for pair in pairs])}

    def forward(self, features):
        self.given.append(len(features["places"]))
        return {**features, "scores": self.scores[features["places"]].unsqueeze(-1)}


class _Centred(torch.nn.Module):
    """Scores less their mean, for which it matters that they come at once and in single precision."""

    def forward(self, scores):
        return 1.3 * (scores - scores.mean())


class _Bits(torch.nn.Module):
    """Scores times a factor that tells their precision."""

    def forward(self, scores):
        return scores * (torch.finfo(scores.dtype).bits / 32)


def _activation(name):
    if name == "bits":
        return _Bits()
    if name == "softmax":
        return torch.nn.Softmax(dim=-1)
    return None if name is None else _Centred() if name == "centred" else getattr(torch.nn, name)()


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    return _ranks(case) if "mask" in case else _loss(case)


def _ranks(case):
    from sentence_transformers.cross_encoder.losses import ADRMSELoss

    loss = ADRMSELoss(_Model(torch.zeros(1), []), alpha=case["alphas"][0])
    results, facts = [], []
    for alpha in case["alphas"]:
        loss.alpha = alpha
        scores, mask = case["scores"].clone().requires_grad_(), case["mask"].clone()
        ranks = loss.approximate_ranks(scores, mask)
        kept = ranks[case["mask"]]
        (gradient,) = torch.autograd.grad((kept * case["weights"].to(kept.dtype)[case["mask"]]).sum(), scores)
        results += [kept.detach(), gradient]
        facts.append([str(ranks.dtype), list(ranks.shape), torch.equal(mask, case["mask"])])
        facts.append(torch.equal(scores.detach(), case["scores"]))
    other = case["mask"].flip(1)
    results.append(loss.approximate_ranks(case["scores"], other)[other])
    return {"double" if case["scores"].dtype == torch.float64 else "single": results, "facts": facts}


def _loss(case):
    from sentence_transformers.cross_encoder.losses import ADRMSELoss

    queries = [f"query {row}" for row in range(len(case["sizes"]))]
    documents = [[f"document {row}.{place}" for place in range(size)] for row, size in enumerate(case["sizes"])]
    pairs = [(query, document) for query, some in zip(queries, documents, strict=True) for document in some]
    model = _Model(case["scores"], pairs)
    settings = dict(case["settings"])
    if case.get("activation"):
        settings["activation_fn"] = _activation(case["activation"])
    loss = ADRMSELoss(model, **settings).train(not case.get("evaluating", False))
    if case.get("hooked"):
        model.register_forward_hook(lambda module, given, found: {**found, "scores": 1.5 * found["scores"]})
        loss.activation_fn.register_forward_hook(lambda module, given, found: 0.7 * found)
    inputs, labels = [queries, documents], [item.clone() for item in case["labels"]]
    if case.get("wrong"):
        if case["wrong"] == "a tensor":
            labels = torch.stack(labels)
        elif case["wrong"] == "one input":
            inputs = inputs[:1]
        elif case["wrong"] == "three inputs":
            inputs = [*inputs, queries]
        elif case["wrong"] == "a label too many":
            labels[1] = torch.cat([labels[1], labels[0][:1]])
        elif case["wrong"] == "a label too few":
            labels[2] = labels[2][:-1]
        elif case["wrong"] == "no labels of one query":
            labels = labels[:-1]
        else:
            labels = labels[::-1]
        try:
            loss(inputs, labels)
        except ValueError:
            return {"raises": "ValueError"}
        return {"raises": "nothing"}
    extra = {name: case[name] for name in ("prompt", "task") if name in case}
    results, facts = [], []
    for step in (None, "scores", *case["steps"]):
        if step == "scores":
            model.scores.data = case["again"].to(model.scores.dtype)
        elif step == "alpha":
            loss.alpha = 1.0 + loss.alpha / 2
        elif step == "mini_batch_size":
            loss.mini_batch_size = 2
        elif step == "activation_fn":
            loss.activation_fn = _Centred()
        model.given.clear()
        found = loss(inputs, labels, *extra.values()) if case.get("positional") else loss(inputs, labels, **extra)
        (gradient,) = torch.autograd.grad(found, model.scores)
        exact = case["dtype"] != "float16"
        results += [found.detach(), gradient.float() if exact else gradient.isfinite().all().item()]
        facts += [str(found.dtype), list(found.shape), [*model.given], loss.training, model.training]
        facts += [str(model.scores.dtype), model.scores.requires_grad]
    model.given.clear()
    again = loss([queries[::-1], documents[::-1]], case["labels"][::-1], prompt="another", task="last")
    results.append(again.detach())
    facts += [[*model.given]]
    facts.append([torch.equal(one, other) for one, other in zip(labels, case["labels"], strict=True)])
    facts.append(inputs == [queries, documents] and [len(some) for some in documents] == case["sizes"])
    facts.append([loss.mini_batch_size, loss.alpha == case["settings"].get("alpha", 1.0), loss.training])
    return {"single": results, "facts": facts}
