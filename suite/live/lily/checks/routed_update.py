"""Outputs and gradients over shapes, experts, settings and dtypes, also of shared modules; then the experiment."""

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def scale():
        return 0.3 + 1.5 * torch.rand((), generator=generator).item()

    def layer(name, rows=None, experts=None, ranks=None, dtype="float32", inputs=None, outputs=None, **more):
        rows = [integer(2, 4)] if rows is None else rows
        experts = experts or [integer(2, 4)]
        ranks = ranks or [integer(2, 4) for _ in experts]
        inputs, outputs = inputs or integer(3, 5), outputs or integer(2, 5)
        return {
            "name": name,
            "x": [normal(*rows, inputs), 0.5 * normal(*rows, inputs) + 0.7],
            "weight": normal(outputs, inputs),
            "bias": normal(outputs),
            "adapters": [
                {
                    "a": normal(rank, inputs) / inputs**0.5,
                    "b": normal(count * rank, outputs),
                    # Probabilities that differ clearly between experts and between tokens.
                    "router": 1.5 * normal(count, rank),
                    "scale": scale(),
                    "count": count,
                }
                for rank, count in zip(ranks, experts, strict=True)
            ],
            "factor": normal(*rows, outputs),
            "active": list(range(len(experts))),
            "steps": [],
            "dtype": dtype,
            **more,
        }

    for dtype in ("float32", "float64"):
        yield layer(f"two dimensions, {dtype}", dtype=dtype)
        yield layer(f"three dimensions, {dtype}", [2, integer(2, 4)], dtype=dtype)
        yield layer(f"two experts, {dtype}", [2, 3], [2], dtype=dtype)
        yield layer(f"two adapters, {dtype}", [3], [2, 3], dtype=dtype)
    yield layer("four dimensions", [2, 2, 2])
    yield layer("many experts", [4], [integer(7, 9)])
    yield layer("as many experts as the rank", [3], [3], [3])
    yield layer("rank one", [3], [3], [1])
    yield layer("all sizes alike", [3], [3], [3], inputs=3, outputs=3)
    yield layer("all sizes alike in three dimensions", [3, 3], [3], [3], inputs=3, outputs=3)
    yield layer("one token", [1])
    yield layer("one row of tokens", [1, 4])
    yield layer("rows of one token", [4, 1])
    yield layer("one output", outputs=1)
    yield layer("without a bias", biased=False)
    yield layer("two adapters of one size", [2, 3], [3, 3], [2, 2])
    yield layer("two adapters in another order", [3], [2, 3], active=[1, 0])
    yield layer("one of two adapters", [3], [2, 3], active=[1])
    yield layer("no active adapter", [3], [2, 3], active=[])
    yield layer("one active name", active="adapter 0")
    yield layer("disabled", steps=["disable"])
    yield layer("disabled and enabled", steps=["disable", "enable"])
    yield layer("changed scale", steps=["scale"])
    yield layer("changed weights", [2, 3], steps=["weights", "base"])
    yield layer("changed experts", [3], [2], [3], steps=["experts"])
    yield layer("changed adapter", [3], [2, 3], active=[0], steps=["activate", "disable", "enable"])
    yield layer("evaluation", training=False)
    yield layer("a frozen base layer", frozen=True)
    yield layer("further arguments", arguments=True)
    yield layer("further arguments, disabled", steps=["disable"], arguments=True)
    for rows in ([3], [2, 3]):
        yield layer(f"shared modules, {len(rows)}", rows, inputs=4, outputs=4, shared=True)
    yield {"name": "experiment", "seed": seed % 1000}

    yield layer("an adapter that the layer lacks", [3], [2, 3], active=[0, 9, 1], edge=True)
    yield layer("only an adapter that the layer lacks", active=[9], edge=True)
    for base, dtype in (("float32", "float64"), ("float64", "float32"), ("bfloat16", "float32")):
        yield layer(f"base in {base}, adapter in {dtype}", dtype=dtype, base=base, edge=True)
        yield layer(f"base in {base}, two adapters in {dtype}", [3], [2, 3], dtype=dtype, base=base, edge=True)
    for rows in ([6], [2, 4]):
        given = layer(f"large logits, {len(rows)}", rows, [3], dtype="float64", edge=True)
        # The largest logit of the first input is 900, in double precision, so that rounding decides nothing.
        tokens = given["x"][0].flatten(0, -2) @ given["adapters"][0]["a"].T
        router = given["adapters"][0]["router"]
        given["adapters"][0]["router"] = router * 900 / (tokens @ router.T).abs().max()
        yield given
    for rows in ([3], [2, 3]):
        yield layer(f"not contiguous, {len(rows)}", rows, strided=True, edge=True)
    yield layer("a vector", [], edge=True)
    yield layer("no rows", [2, 0], empty=True, edge=True)
    for base, output in (("float32", "float64"), ("float64", "float32")):
        yield layer(f"output in {output} of a base in {base}", [3], [2, 3], base=base, output=output, edge=True)
    for experts in ([2], [2, 3]):
        yield layer(f"the base layer's output, {len(experts)}", [3], experts, watched=True, edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    dtype = getattr(torch, case["dtype"])
    kind = getattr(torch, case.get("base", case["dtype"]))
    base, layer, names = _made(case, dtype, kind)
    stack = [layer]
    if case.get("shared"):
        _, second, _ = _made(case, dtype, kind)
        with torch.no_grad():
            second.lily_router["adapter 0"].weight.mul_(-0.6)
        second.lily_A["adapter 0"], second.lily_B["adapter 0"] = layer.lily_A["adapter 0"], layer.lily_B["adapter 0"]
        stack.append(second)
    active = case["active"]
    if not isinstance(active, str):
        active = [names[number] if number < len(names) else "another" for number in active]
    told_of = []
    if "output" in case:
        base.register_forward_hook(lambda _, given, output: output.to(getattr(torch, case["output"])))
    if case.get("watched"):
        base.register_forward_hook(lambda _, given, output: told_of.append((output, output.detach().clone())))
    for item in stack:
        item.set_adapter(active)
        item.train(case.get("training", True))
    xs = [item.to(kind) for item in case["x"]]
    if case.get("strided"):
        xs = [item.transpose(0, -1).contiguous().transpose(0, -1) for item in xs]
    xs = [item.requires_grad_() for item in xs]
    arguments, more = ([2.5], {"more": 0.5}) if case.get("arguments") else ([], {})
    given = {name: item.detach().clone() for name, item in layer.state_dict().items()}
    values, facts = [], []
    for place, step in enumerate((None, *case["steps"], None)):
        with torch.no_grad():
            _changed(layer, base, step)
        before = _state(layer)
        output = xs[place % 2]
        for item in stack:
            output = item(output, *arguments, **more)
        facts.append([str(output.dtype), list(output.shape), _state(layer) == before])
        values.append(output.detach().clone())
        if output.requires_grad and not case.get("empty"):
            (output * case["factor"].to(output.dtype)).sum().backward()
    trained = [*xs, *{id(item): item for module in stack for item in module.parameters()}.values()]
    facts.append([item.grad is None for item in trained])
    values += [item.grad for item in trained if item.grad is not None]
    facts.append([torch.equal(output.detach(), copy) for output, copy in told_of])
    if not case["steps"]:
        facts.append([torch.equal(item.detach(), given[name]) for name, item in layer.state_dict().items()])
    facts.append([torch.equal(item.detach(), x.to(kind)) for item, x in zip(xs, case["x"], strict=True)])
    if kind == torch.bfloat16:
        return {"facts": facts, "finite": [bool(item.isfinite().all()) for item in values]}
    return {"double" if dtype == kind == torch.float64 else "near": values, "facts": facts}


def _made(case, dtype, kind):
    from peft.tuners.lily.config import LilyConfig
    from peft.tuners.lily.layer import Linear

    outputs, inputs = case["weight"].shape
    biased = case.get("biased", True)
    base = torch.nn.Linear(inputs, outputs, bias=biased, dtype=kind).requires_grad_(not case.get("frozen", False))
    base.register_forward_pre_hook(_with_arguments, with_kwargs=True)
    layer, names = None, []
    for number, adapter in enumerate(case["adapters"]):
        names.append(f"adapter {number}")
        config = LilyConfig(stride_A=2 + number, num_B=adapter["count"], scaling=adapter["scale"])
        if layer is None:
            layer = Linear(base, names[-1], len(adapter["a"]), config)
        else:
            layer.update_layer(names[-1], len(adapter["a"]), config)
    with torch.no_grad():
        base.weight.copy_(case["weight"])
        if biased:
            base.bias.copy_(case["bias"])
        for name, adapter in zip(names, case["adapters"], strict=True):
            for modules, item in ((layer.lily_A, "a"), (layer.lily_B, "b"), (layer.lily_router, "router")):
                modules[name].to(dtype).weight.copy_(adapter[item])
    return base, layer, names


def _with_arguments(base, arguments, more):
    """Let a layer take two numbers that are added to its input, which the plain one does not know."""
    x, other = (*arguments, 0.0)[:2]
    return (x + 0.6 * other + more.get("more", 0.0),), {}


def _state(layer):
    """What a call leaves as it is."""
    settings = [dict(layer.scaling), dict(layer.num_B), dict(layer.r), layer.active_adapters, layer.disable_adapters]
    return [*settings, [[name, module.training] for name, module in layer.named_modules()]]


def _changed(layer, base, step):
    if step in ("disable", "enable"):
        layer.enable_adapters(step == "enable")
    elif step == "scale":
        layer.scaling["adapter 0"] = 0.7
    elif step == "weights":
        for modules in (layer.lily_A, layer.lily_B, layer.lily_router):
            modules["adapter 0"].weight.mul_(0.8).add_(0.1)
    elif step == "base":
        base.weight.mul_(0.7).add_(0.2)
    elif step == "experts":
        # The same rows as three experts of rank two in place of two of rank three.
        rows = layer.lily_A["adapter 0"].weight
        layer.lily_A["adapter 0"] = torch.nn.Linear(rows.shape[1], 2, bias=False, dtype=rows.dtype)
        layer.lily_A["adapter 0"].weight.copy_(rows[:2])
        layer.lily_router["adapter 0"] = torch.nn.Linear(2, 3, bias=False, dtype=rows.dtype)
        layer.lily_router["adapter 0"].weight.copy_(rows[:3, :2])
        layer.num_B["adapter 0"], layer.r["adapter 0"] = 3, 2
    elif step == "activate":
        layer.set_adapter(["adapter 1"])
