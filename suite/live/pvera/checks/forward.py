"""Samples of an adapter; outputs and gradients of layers over settings, modes and dtypes; then the experiment."""

import warnings

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def sample(name, rows=None, dtype="float32", **more):
        shape = [*([integer(2, 4)] if rows is None else rows), integer(2, 5)]
        return {
            "name": f"sample, {name}",
            "mu": normal(*shape),
            "logvar": 1.5 * normal(*shape),
            "factor": normal(*shape),
            "dtype": dtype,
            "seeds": [integer(0, 9999), integer(0, 9999)],
            "own": True,
            "training": True,
            "always": False,
            **more,
        }

    for dtype in ("float32", "float64"):
        yield sample(f"own generator, {dtype}", dtype=dtype)
        yield sample(f"global generator, {dtype}", dtype=dtype, own=False)
        yield sample(f"evaluation, {dtype}", dtype=dtype, training=False)
        yield sample(f"evaluation with samples, {dtype}", dtype=dtype, training=False, always=True)
    yield sample("global generator in evaluation", training=False, always=True, own=False)
    yield sample("evaluation without samples, global generator", training=False, own=False)
    yield sample("training, samples always", always=True)
    yield sample("another generator", replaced=True)
    yield sample("three dimensions", [2, integer(2, 3)])
    yield sample("many", [12], own=False)

    def layer(name, rows=None, ranks=None, dtype="float32", **more):
        rows = [integer(2, 4)] if rows is None else rows
        ranks = ranks or [integer(2, 4)]
        inputs, outputs = integer(3, 5), integer(2, 5)
        largest = inputs + integer(1, 3), outputs + integer(1, 3)
        return {
            "name": f"layer, {name}",
            "x": [normal(*rows, inputs), normal(*rows, inputs)],
            "weight": normal(outputs, inputs),
            "bias": normal(outputs),
            "lambda_d": [0.5 * normal(2 * rank) for rank in ranks],
            "lambda_b": [normal(outputs) for _ in ranks],
            "a": [normal(2 * rank, largest[0]) for rank in ranks],
            "b": [normal(largest[1], rank) for rank in ranks],
            "factor": normal(*rows, outputs),
            "active": list(range(len(ranks))),
            "own": [True] * len(ranks),
            "always": [False] * len(ranks),
            "dropout": [0.0] * len(ranks),
            "training": True,
            "steps": [],
            "seeds": [integer(0, 9999) for _ in range(1 + len(ranks))],
            "dtype": dtype,
            **more,
        }

    for dtype in ("float32", "float64"):
        yield layer(f"training, {dtype}", dtype=dtype)
        yield layer(f"evaluation, {dtype}", dtype=dtype, training=False)
        yield layer(f"global generator, {dtype}", dtype=dtype, own=[False])
        yield layer(f"two adapters, {dtype}", ranks=[2, 3], dtype=dtype)
    yield layer("evaluation with samples", training=False, always=[True])
    yield layer("three dimensions", [2, integer(2, 3)])
    yield layer("without a bias", biased=False)
    yield layer("dropout in training", dropout=[0.4])
    yield layer("dropout and global generator", dropout=[0.4], own=[False])
    yield layer("dropout in evaluation", dropout=[0.4], training=False)
    yield layer("dropout in evaluation with samples", dropout=[0.4], training=False, always=[True])
    mixed = {"own": [False, True], "dropout": [0.3, 0.0]}
    yield layer("two adapters, two settings", ranks=[3, 2], **mixed)
    yield layer("two adapters in another order", ranks=[3, 2], active=[1, 0], own=[False, False])
    yield layer("two adapters, one samples", ranks=[3, 2], training=False, always=[False, True])
    yield layer("one of two adapters", ranks=[2, 3], active=[1])
    yield layer("no active adapter", ranks=[2, 3], active=[])
    yield layer("one active name", active="adapter 0")
    yield layer("merged", ranks=[2, 3], steps=["merge"])
    yield layer("merged, in evaluation", ranks=[2, 3], steps=["merge"], training=False)
    yield layer("disabled", steps=["disable"])
    yield layer("merged, then disabled", ranks=[3, 2], steps=["merge", "disable"])
    yield layer("merged, disabled and enabled", steps=["merge", "disable", "enable"], training=False)
    yield layer(
        "changes", ranks=[2, 3], steps=["evaluate", "sample", "lambda_d", "train", "weight", "activate"], active=[0]
    )
    yield layer("another generator", steps=["generator"])
    yield layer("further arguments", arguments=True)
    yield layer("further arguments, merged", steps=["merge"], arguments=True)
    yield layer("further arguments, disabled", steps=["disable"], arguments=True)
    yield {"name": "experiment", "seed": seed % 1000}
    yield layer("merged, then another active", ranks=[2, 3], active=[0], steps=["merge", "activate"])

    yield layer("an adapter that the layer lacks", ranks=[2, 3], active=[0, 9, 1], edge=True)
    yield layer("only an adapter that the layer lacks", active=[9], edge=True)
    for base, dtype in (("float32", "float64"), ("float64", "float32"), ("bfloat16", "float32")):
        yield layer(f"base in {base}, adapter in {dtype}", dtype=dtype, base=base, edge=True)
        yield layer(f"base in {base}, two adapters in {dtype}", ranks=[2, 3], dtype=dtype, base=base, edge=True)
    for training in (True, False):
        yield sample(f"no rows, {'training' if training else 'evaluation'}", [0], training=training, edge=True)
    yield sample("a vector", [], edge=True)
    yield layer("a vector", [], edge=True)
    yield layer("no rows", [2, 0], edge=True)
    for dtype in ("float32", "float64"):
        given = sample(f"log-variances near the ends of their range, {dtype}", [4], dtype=dtype, edge=True)
        ends = 15 + 4 * torch.rand(given["mu"].shape, generator=generator, dtype=torch.float64)
        ends[::2] *= -1
        # Means that do not hide a small deviation.
        yield given | {"logvar": ends, "mu": 1e-3 * given["mu"]}
    yield layer("an adapter of other layers", ranks=[2, 3], active=[0, 9, 1], elsewhere=True, edge=True)
    yield layer("dropout of one adapter switched off", dropout=[0.4], steps=["dropout"], edge=True)
    for ranks in ([2], [2, 3]):
        yield layer(f"the base layer's output, {len(ranks)}", ranks=ranks, watched=True, edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    return _sample(case) if "mu" in case else _layer(case)


def _made(inputs, outputs, a, b, ranks, settings, dtype, biased=True):
    """A layer with adapters of the given matrices, all in one dtype."""
    from peft.tuners._buffer_dict import BufferDict
    from peft.tuners.pvera.config import PveraConfig
    from peft.tuners.pvera.layer import Linear

    base = torch.nn.Linear(inputs, outputs, bias=biased, dtype=dtype)
    base.register_forward_pre_hook(_with_arguments, with_kwargs=True)
    names = [f"adapter {number}" for number in range(len(ranks))]
    matrices = [BufferDict(dict(zip(names, items, strict=True))) for items in (a, b)]
    layer = None
    for name, rank, (seed, always, dropout) in zip(names, ranks, settings, strict=True):
        config = PveraConfig(pvera_dropout=dropout, sample_at_inference=always, generator_seed=seed)
        if layer is None:
            layer = Linear(base, *matrices, name, rank, config)
        else:
            layer.update_layer(name, *matrices, rank, config)
    return base, layer, names


def _with_arguments(base, arguments, more):
    """Let a layer take two numbers that are added to its input, which the plain one does not know."""
    x, other = (*arguments, 0.0)[:2]
    return (x + 0.6 * other + more.get("more", 0.0),), {}


def _drawn_next(layer):
    """The next number of each generator, which tells how much has been drawn, and the global one."""
    own = [item for item in layer.pvera_generator.values() if item is not None]
    return [torch.rand(1, generator=item).item() for item in own] + [torch.rand(1).item()]


def _state(layer):
    """What a call leaves as it is."""
    settings = [dict(layer.sample_at_inference), dict(layer.r), layer.active_adapters, layer.disable_adapters]
    return [*settings, [[name, module.training] for name, module in layer.named_modules()]]


def _sample(case):
    dtype = getattr(torch, case["dtype"])
    width = case["mu"].shape[-1]
    a, b = [torch.ones(2 * width, 3)] * 2, [torch.ones(2, width)] * 2
    settings = [(case["seeds"][0] if case["own"] else None, case["always"], 0.0), (5, not case["always"], 0.0)]
    _, layer, _ = _made(3, 2, a, b, [width, width], settings, dtype)
    layer.train(case["training"])
    mu, logvar = (case[name].to(dtype).requires_grad_() for name in ("mu", "logvar"))
    torch.manual_seed(case["seeds"][1])
    before, values, facts = _state(layer), [], []
    for _ in range(2):
        found = layer._reparametrize(mu, logvar, "adapter 0")
        gradients = torch.autograd.grad((found * case["factor"].to(dtype)).sum(), [mu, logvar], allow_unused=True)
        facts += [str(found.dtype), list(found.shape), [item is None for item in gradients]]
        values += [found.detach(), *[item for item in gradients if item is not None]]
    values.append(layer._reparametrize(mu.detach(), logvar.detach(), "adapter 1"))
    if case.get("replaced"):
        layer.pvera_generator = {"adapter 0": torch.Generator().manual_seed(case["seeds"][1])}
        values.append(layer._reparametrize(mu.detach(), logvar.detach(), "adapter 0"))
    facts += [torch.equal(mu.detach(), case["mu"].to(dtype)), torch.equal(logvar.detach(), case["logvar"].to(dtype))]
    facts += [_state(layer) == before]
    return {"double" if dtype == torch.float64 else "near": [*values, *_drawn_next(layer)], "facts": facts}


def _layer(case):
    dtype, kind = getattr(torch, case["dtype"]), getattr(torch, case.get("base", case["dtype"]))
    biased = case.get("biased", True)
    ranks = [len(item) // 2 for item in case["lambda_d"]]
    seeds = [seed if own else None for seed, own in zip(case["seeds"][1:], case["own"], strict=True)]
    matrices = [[item.to(dtype) for item in case[name]] for name in ("a", "b")]
    outputs, inputs = case["weight"].shape
    settings = list(zip(seeds, case["always"], case["dropout"], strict=True))
    base, layer, names = _made(inputs, outputs, *matrices, ranks, settings, kind, biased)
    with torch.no_grad():
        base.weight.copy_(case["weight"])
        if biased:
            base.bias.copy_(case["bias"])
    for number, name in enumerate(names):
        layer.pvera_lambda_d[name] = torch.nn.Parameter(case["lambda_d"][number].to(dtype))
        layer.pvera_lambda_b[name] = torch.nn.Parameter(case["lambda_b"][number].to(dtype))
    active = case["active"]
    if not isinstance(active, str):
        active = [names[number] if number < len(names) else "another" for number in active]
    if case.get("elsewhere"):
        layer.pvera_A["another"], layer.pvera_B["another"] = (item[0].clone() for item in matrices)
    told_of = []
    if case.get("watched"):
        base.register_forward_hook(lambda _, given, output: told_of.append((output, output.detach().clone())))
    layer.set_adapter(active)
    layer.train(case["training"])
    xs = [item.to(kind).requires_grad_() for item in case["x"]]
    arguments, more = ([2.5], {"more": 0.5}) if case.get("arguments") else ([], {})
    torch.manual_seed(case["seeds"][0])
    given = {name: item.detach().clone() for name, item in layer.state_dict().items()}
    values, facts = [], []
    for place, step in enumerate((None, *case["steps"], None)):
        with torch.no_grad():
            _changed(layer, base, step)
        before = _state(layer)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            output = layer(xs[place % 2], *arguments, **more)
        facts.append(len(told))
        facts.append([str(output.dtype), list(output.shape), list(layer.merged_adapters), _state(layer) == before])
        values.append(output.detach().clone())
        if step == "disable":
            values.append(base.weight.detach().clone())
        if output.requires_grad:
            (output * case["factor"].to(output.dtype)).sum().backward()
    trained = [*xs, *base.parameters(), *layer.pvera_lambda_d.values(), *layer.pvera_lambda_b.values()]
    facts.append([item.grad is None for item in trained])
    values += [item.grad for item in trained if item.grad is not None]
    facts.append([torch.equal(output.detach(), copy) for output, copy in told_of])
    if not case["steps"]:
        facts.append([torch.equal(item.detach(), given[name]) for name, item in layer.state_dict().items()])
    facts.append([torch.equal(item.detach(), x.to(kind)) for item, x in zip(xs, case["x"], strict=True)])
    following = _drawn_next(layer)
    if kind == torch.bfloat16:
        return {"facts": facts, "finite": [bool(item.isfinite().all()) for item in values], "following": following}
    exact = dtype == kind == torch.float64
    return {"facts": facts, "double" if exact else "near": values, "following": following}


def _changed(layer, base, step):
    if step == "merge":
        layer.merge()
    elif step in ("disable", "enable"):
        layer.enable_adapters(step == "enable")
    elif step in ("evaluate", "train"):
        layer.train(step == "train")
    elif step == "sample":
        layer.sample_at_inference["adapter 0"] = True
    elif step == "lambda_d":
        layer.pvera_lambda_d["adapter 0"].mul_(0.6)
    elif step == "weight":
        base.weight.add_(0.5)
    elif step == "generator":
        layer.pvera_generator = {"adapter 0": torch.Generator().manual_seed(7)}
    elif step == "dropout":
        layer.pvera_dropout["adapter 0"].eval()
    elif step == "activate":
        layer.set_adapter(["adapter 1"])
