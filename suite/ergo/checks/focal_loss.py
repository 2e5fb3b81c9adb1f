"""focal_loss: the loss and its gradient for all settings, shapes and dtypes, also with padding; then the experiment."""

from itertools import product

import torch

KINDS = {torch.float64: "double", torch.float32: "single"}
SHAPES = ((17,), (3, 6), (1, 9), (8, 1), (2, 3, 4))


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    # Class weights are fractions that single precision holds, so it doesn't matter in which precision they are kept.
    def factor():
        return integer(39, 57) / 64

    def alpha_of(kind, count):
        return factor() if kind == "a factor" else tuple(integer(7, 70) / 32 for _ in range(count))

    def batch(*shape, count=3, dtype=torch.float64, scale=1.6, ignored=0.0):
        labels = torch.randint(count, shape, generator=generator)
        # The first pair always counts.
        labels.view(-1)[1:][torch.rand(labels.numel() - 1, generator=generator) < ignored] = -100
        scores = scale * torch.randn(*shape, count, generator=generator, dtype=torch.float64)
        return {"preds": scores.to(dtype), "labels": labels}

    every = product(("a factor", "weights"), (True, False), (torch.float64, torch.float32), (0.0, 0.3), (1.6, 9.0))
    for number, (kind, average, dtype, ignored, scale) in enumerate(every):
        count, gamma = 2 + number % 3, (2.0, 0.0, 1.0, 3, 1.5, uniform(1, 5), 2)[number % 7]
        words = [kind, f"{count} classes", f"gamma {gamma:.2f}", "mean" if average else "sum", KINDS[dtype]]
        words += ["padding"] * (ignored > 0) + ["confident"] * (scale > 2)
        given = batch(*SHAPES[number % 5], count=count, dtype=dtype, scale=scale, ignored=ignored)
        yield {"name": ", ".join(words), **given, "settings": [alpha_of(kind, count), gamma, count, average]}
    for average in (True, False):
        settings = [factor(), 2.0, 3, average]
        for label in (0, 2):
            given = batch(2, 5) | {"labels": torch.full((2, 5), label)}
            name = f"class {label} only, {'mean' if average else 'sum'}"
            yield {"name": name, **given, "settings": settings}
    for alpha in (0.0, 1.0, 1, (integer(1, 3), 1, 2), (0.0, integer(3, 9) / 4, integer(10, 40) + 0.125)):
        given = batch(3, 5, ignored=0.2)
        given["labels"][0, :2] = torch.tensor([0, 1])
        yield {"name": f"alpha {alpha}", **given, "settings": [alpha, 2.0, 3, True]}
    yield {"name": "one pair", **batch(1, 1, count=2), "settings": [factor(), 2.0, 2, True]}
    yield {"name": "the default settings", **batch(2, 6, ignored=0.2), "settings": []}
    for directed in (True, False):
        settings = [factor(), 2.0, 3 if directed else 2, directed]
        yield {"name": f"a model, directed {directed}", "model": seed, "directed": directed, "settings": settings}
    yield {"name": "experiment", "experiment": seed % 1000}

    def edge(name, given, alpha=None, gamma=2.0, average=True):
        settings = [factor() if alpha is None else alpha, gamma, given["preds"].shape[-1], average]
        return {"name": name, **given, "settings": settings, "edge": True}

    for average in (True, False):
        padding = batch(2, 3) | {"labels": torch.full((2, 3), -100)}
        yield edge(f"padding only, average {average}", padding, average=average)
    for shape in ((2, 0), (0, 3)):
        none = {"preds": torch.zeros(*shape, 3, dtype=torch.float64), "labels": torch.zeros(*shape, dtype=torch.long)}
        yield edge(f"no pairs, shape {shape}", none, alpha=alpha_of("weights", 3))
    for dtype, gamma in product((torch.float32, torch.float64), (0.0, 1.0, 1.5, 2.0)):
        given = batch(3, 5, dtype=dtype, ignored=0.2)
        given["preds"] += 55.0 * (torch.rand(3, 5, 3, generator=generator).argsort(-1) - 1)
        yield edge(f"scores far apart in {KINDS[dtype]}, gamma {gamma}", given, gamma=gamma)
    given = batch(8, count=2)
    given["labels"][:2] = torch.tensor([0, 1])
    given["preds"] += torch.tensor([[-55.0, 55.0]])
    yield edge("two classes, scores far apart", given, average=False)


def observe(case):
    if "experiment" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {
            "experiment": {stage: metrics for stage, metrics in run(case["experiment"]).items() if stage != "rates"}
        }
    from model import focal_loss

    if "model" in case:
        return of_model(case, focal_loss(*case["settings"]))
    preds, labels = case["preds"].clone().requires_grad_(), case["labels"].clone()
    criterion = focal_loss(*case["settings"])
    # Training calls one object for every batch.
    criterion(case["preds"].flip(-1), case["labels"])
    settings = _settings(criterion)
    loss = criterion(preds, labels)
    [gradient] = torch.autograd.grad(1.7 * loss, preds)
    unchanged = [torch.equal(labels, case["labels"]), torch.equal(preds, case["preds"])]
    unchanged.append(_settings(criterion) == settings)
    found = {"loss": loss, "gradient": gradient}
    return {"unchanged": unchanged, "dtype": str(loss.dtype), KINDS[preds.dtype]: found}


def _settings(criterion):
    return [criterion.alpha, criterion.gamma, criterion.num_classes, criterion.size_average]


def of_model(case, criterion):
    """The loss of a new model on documents, and some gradients of its weights."""
    from data import collate, make_documents
    from model import ErgoConfig, build_model

    generator = torch.Generator().manual_seed(case["model"])
    batch = collate(make_documents(5, generator, directed=case["directed"]))
    model = build_model(ErgoConfig(num_classes=criterion.num_classes), case["model"]).double()
    loss = criterion(model(batch), batch.labels)
    loss.backward()
    return {"double": [loss, model.classifier.weight.grad, model.encoder.embed.weight.grad]}
