"""focal_loss: the loss and its gradient for all settings, shapes and dtypes, also with padding; then the experiment."""

import math

import torch

HALF = (torch.bfloat16, torch.float16)


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def scores(*shape, dtype=torch.float64):
        return 1.6 * torch.randn(*shape, generator=generator, dtype=dtype)

    def classes(*shape, count, ignored=0.0):
        labels = torch.randint(0, count, shape, generator=generator)
        return labels.masked_fill(torch.rand(shape, generator=generator) < ignored, -100)

    # Fractions that single precision holds.
    def factor():
        return torch.randint(40, 58, (), generator=generator).item() / 64

    def weights(count):
        return (torch.randint(7, 70, (count,), generator=generator).double() / 32).tolist()

    for count, gamma, average in (
        (2, 2.0, True),
        (2, 3.0, False),
        (3, 2.0, False),
        (5, 1.0, True),
        (4, 1.5, True),
        (3, 7.0, False),
    ):
        given = {"preds": scores(3, 9, count), "labels": classes(3, 9, count=count, ignored=0.3)}
        for kind, alpha in (("a factor", factor()), ("weights", weights(count))):
            name = f"{kind}, {count} classes, gamma {gamma}, {'mean' if average else 'sum'}"
            yield {"name": name, **given, "settings": [alpha, gamma, count, average]}
    for kind, alpha in (("a factor", factor()), ("weights", weights(3))):
        given = {"preds": scores(4, 6, 3), "labels": classes(4, 6, count=3, ignored=0.2)}
        yield {"name": f"{kind}, gamma 0", **given, "settings": [alpha, 0.0, 3, True]}
    for average in (True, False):
        given = {"preds": scores(5, 3), "labels": torch.zeros(5, dtype=torch.long)}
        yield {"name": f"negatives only, average {average}", **given, "settings": [factor(), 2.0, 3, average]}
        given = {"preds": scores(2, 4, 3), "labels": torch.full((2, 4), 2)}
        yield {"name": f"the last class only, average {average}", **given, "settings": [factor(), 2.0, 3, average]}
    for dims in ((13,), (1, 7), (4, 1), (2, 3, 4)):
        given = {"preds": scores(*dims, 3), "labels": classes(*dims, count=3)}
        yield {"name": f"labels of shape {dims}", **given, "settings": [factor(), 2.0, 3, True]}
    for label in range(2):
        given = {"preds": scores(1, 1, 2), "labels": torch.full((1, 1), label)}
        yield {"name": f"one pair of class {label}", **given, "settings": [factor(), 2.0, 2, True]}
    for kind, alpha in (("a factor", factor()), ("weights", weights(3))):
        preds = scores(2, 8, 3, dtype=torch.float32)
        given = {"preds": preds, "labels": classes(2, 8, count=3, ignored=0.2)}
        yield {"name": f"{kind}, single precision", **given, "settings": [alpha, 2.0, 3, True]}
        for dtype in HALF:
            yield {"name": f"{kind}, {dtype}", **given, "preds": preds.to(dtype), "settings": [alpha, 2.0, 3, True]}
    for alpha in (0.0, 1.0, 0.015625, (0.0, 0.0, 0.0), (0.0, 3.0, 40.125), (3, 1, 2), (1, 0.75, 0)):
        given = {"preds": scores(3, 4, 3), "labels": classes(3, 4, count=3, ignored=0.2)}
        yield {"name": f"alpha {alpha}", **given, "settings": [alpha, 2.0, 3, True]}
    for gamma in (0.0, 1.0, 1.5, 2.0, 10.0):
        for dtype, steps in ((torch.float32, (60.0, 145.0)), (torch.float64, (140.0, 495.0))):
            for step in steps:
                ranks = torch.rand(3, 5, 3, generator=generator).argsort(-1)
                preds = step * (ranks - 1) + scores(3, 5, 3, dtype=dtype)
                given = {"preds": preds, "labels": classes(3, 5, count=3, ignored=0.2)}
                name = f"scores {step} apart in {dtype}, gamma {gamma}"
                yield {"name": name, **given, "settings": [factor(), gamma, 3, True]}
        preds = (torch.tensor([12.0, 145.0]) * torch.tensor([[-1.0], [1.0]])).T.repeat(3, 1)
        given = {"preds": preds + scores(6, 2, dtype=torch.float32), "labels": classes(6, count=2)}
        name = f"two classes, scores far apart, gamma {gamma}"
        yield {"name": name, **given, "settings": [factor(), gamma, 2, False]}
        for dtype, offset in ((torch.float32, 140.0), (torch.float64, 900.0)):
            # No pair is like another.
            preds = scores(3, 6, 3, dtype=dtype) + offset * torch.tensor([1.0, -1.0] * 3, dtype=dtype).unsqueeze(-1)
            given = {"preds": preds, "labels": classes(3, 6, count=3)}
            name = f"pairs around {offset} and -{offset}, gamma {gamma}"
            yield {"name": name, **given, "settings": [factor(), gamma, 3, True]}
        for offset in (1000.0, -1000.0):
            given = {"preds": offset + scores(3, 5, 3), "labels": classes(3, 5, count=3, ignored=0.2)}
            yield {"name": f"scores around {offset}, gamma {gamma}", **given, "settings": [factor(), gamma, 3, True]}
    given = {"preds": scores(3, 4, 5).permute(2, 1, 0), "labels": classes(4, 5, count=3, ignored=0.2).T}
    yield {"name": "tensors that are not contiguous", **given, "settings": [factor(), 2.0, 3, True]}
    none = {"preds": scores(0, 5, 3), "labels": torch.zeros(0, 5, dtype=torch.long)}
    yield {"name": "no documents", **none, "settings": [factor(), 2.0, 3, True]}
    sure = scores(6, 3)
    sure[torch.arange(6), torch.arange(6) % 3] += 900.0
    given = {"preds": sure, "labels": torch.arange(6) % 3}
    yield {"name": "certain and right", **given, "settings": [factor(), 2.0, 3, False]}
    yield {
        "name": "certain and wrong",
        **given,
        "labels": (torch.arange(6) + 1) % 3,
        "settings": [0.6875, 2.0, 3, False],
    }
    for count in (2, 3):
        given = {"preds": scores(4, 1).expand(4, count).clone(), "labels": classes(4, count=count)}
        yield {"name": f"none of {count} classes preferred", **given, "settings": [factor(), 2.0, count, True]}
    for value in (math.nan, math.inf, -math.inf):
        given = {"preds": scores(3, 6, 3), "labels": classes(3, 6, count=3)}
        given["labels"][:, 4:] = -100
        given["preds"][:, 4:, 1] = value
        yield {"name": f"{value} in the padding", **given, "settings": [factor(), 2.0, 3, True]}
        given["labels"] = torch.full((3, 6), -100)
        yield {"name": f"{value} and padding only", **given, "settings": [factor(), 2.0, 3, False]}
    given = {"preds": scores(3, 6, 3, dtype=torch.float32), "labels": classes(3, 6, count=3)}
    given["labels"][:, 4:] = -100
    given["preds"][:, 4:] = torch.tensor([-3e38, 3e38, 0.0])
    yield {"name": "the largest numbers in the padding", **given, "settings": [factor(), 2.0, 3, True]}
    for average in (True, False):
        given = {"preds": scores(2, 3, 3), "labels": torch.full((2, 3), -100)}
        yield {"name": f"padding only, average {average}", **given, "settings": [factor(), 2.0, 3, average]}
        given = {"preds": scores(2, 0, 3), "labels": torch.zeros(2, 0, dtype=torch.long)}
        yield {"name": f"no pairs, average {average}", **given, "settings": [weights(3), 2.0, 3, average]}
    given = {"preds": scores(2, 6, 3), "labels": classes(2, 6, count=3, ignored=0.2)}
    yield {"name": "defaults", **given, "settings": []}
    for kind, alpha in (("a factor", 341 / 1024), ("weights", (333.3125, 1.0625, 0.0078125))):
        yield {"name": f"{kind}, after half precision", **given, "settings": [alpha, 2.0, 3, True], "earlier": HALF[0]}
    yield {"name": "the positives' weight is the integer 1", **given, "settings": [1, 2, 3, True]}
    for directed in (True, False):
        settings = [factor(), 2.0, 3 if directed else 2, directed]
        yield {"name": f"a model, directed {directed}", "model": seed, "directed": directed, "settings": settings}
    yield {"name": "experiment", "experiment": seed % 1000}


def observe(case):
    if "experiment" in case:
        from experiment import run

        return {"experiment": run(case["experiment"])}
    from model import ErgoConfig, build_model, focal_loss

    criterion = focal_loss(*case["settings"])
    if "model" in case:
        from data import collate, make_documents

        generator = torch.Generator().manual_seed(case["model"])
        batch = collate(make_documents(5, generator, directed=case["directed"]))
        model = build_model(ErgoConfig(num_classes=case["settings"][2]), case["model"]).double()
        loss = criterion(model(batch), batch.labels)
        loss.backward()
        return {"exact": [loss, model.classifier.weight.grad, model.encoder.embed.weight.grad]}
    if "earlier" in case:
        criterion(case["preds"].to(case["earlier"]), case["labels"])
    settings = _settings(criterion)
    preds, labels = case["preds"].clone().requires_grad_(), case["labels"].clone()
    loss = criterion(preds, labels)
    after = _settings(criterion)
    # The settings of a later call are not those of this one.
    kept = criterion.alpha, criterion.gamma, criterion.size_average
    criterion.alpha, criterion.gamma, criterion.size_average = 0.125, kept[1] + 0.5, not kept[2]
    gradient = torch.autograd.grad(1.7 * loss, preds)[0]
    criterion.alpha, criterion.gamma, criterion.size_average = kept
    observed = {
        "unchanged": [
            torch.equal(preds.nan_to_num(9.0), case["preds"].nan_to_num(9.0)),
            torch.equal(labels, case["labels"]),
        ],
        "settings": [settings, after],
        # Nothing that was left on them touches what other losses of the same scores give.
        "other_losses": torch.autograd.grad(preds.sum(), preds)[0].sum(),
    }
    if preds.dtype.itemsize < 4:
        # There right versions round in different places.
        facts = [[str(item.dtype), list(item.shape), bool(item.isfinite().all())] for item in (loss, gradient)]
        return {**observed, "facts": facts}
    # The same object may serve other batches, of another dtype, and with other settings.
    observed["again"] = [criterion(case["preds"].double().flip(-1), labels)]
    labels[labels == 1] = 0
    criterion.gamma += 1
    criterion.size_average = not criterion.size_average
    for alpha in (0.375, tuple(0.5 + label for label in range(criterion.num_classes))):
        criterion.alpha = alpha
        observed["again"].append(criterion(case["preds"].double(), labels))
    # Double precision is compared as such.
    if preds.dtype == torch.float64:
        return {"exact": {**observed, "loss": loss, "gradient": gradient}}
    return {**observed, "loss": loss, "gradient": gradient}


def _settings(criterion):
    """All attributes of the object; of dicts the keys, and of what else is not a setting only the name."""
    plain = {name: list(value) if isinstance(value, dict) else value for name, value in sorted(vars(criterion).items())}
    return {name: value if isinstance(value, int | float | tuple | list) else None for name, value in plain.items()}
