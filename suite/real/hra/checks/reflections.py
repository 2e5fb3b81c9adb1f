"""Starts and chains of HRA, and outputs of linear layers and convolutions with gradients; then the experiment."""

import warnings
from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def vectors(length, rank, apart=True):
        # None is short, and no orthogonalised one is nearly in the span of those before it.
        while True:
            drawn = normal(length, rank)
            left = torch.linalg.qr(drawn).R.diagonal().abs() / drawn.norm(dim=0) if apart else torch.ones(1)
            if (drawn.norm(dim=0) > 0.1).all() and left.min() > 0.15:
                return drawn * torch.logspace(-0.5, 0.5, rank, dtype=torch.float64)

    for number, rank in enumerate((2, 2 * integer(2, 4), 1, 2 * integer(1, 3) + 1)):
        for conv in (None, integer(2, 3)):
            if number % 2 or conv is None:
                name = f"start, {'even' if rank % 2 == 0 else 'odd'} {number}{', a convolution' if conv else ''}"
                yield {"name": name, "rank": rank, "length": integer(3, 6), "conv": conv, "drawn": integer(0, 999)}

    def chain(name, length=None, rank=None, orthogonal=False, dtype="float64", conv=None, **more):
        length = length or (integer(1, 3) * conv**2 if conv else integer(5, 8))
        given = {"vectors": vectors(length, rank or integer(3, 4), orthogonal), "weights": normal(length, length)}
        more = {"orthogonal": orthogonal, "dtype": dtype, "conv": conv} | more
        return {"name": f"chain, {name}{', orthogonal' * orthogonal}", **given, **more}

    for orthogonal, dtype in product((False, True), ("float32", "float64")):
        yield chain(f"some vectors, {dtype}", orthogonal=orthogonal, dtype=dtype)
        yield chain(f"a convolution's, {dtype}", orthogonal=orthogonal, dtype=dtype, conv=2)
    for orthogonal in (False, True):
        yield chain("one vector", rank=1, orthogonal=orthogonal)
        yield chain("two vectors", rank=2, orthogonal=orthogonal)
        yield chain("as many as inputs", 4, 4, orthogonal)
        yield chain("many", integer(18, 24), 6, orthogonal)

    def layer(name, inputs=None, outputs=None, ranks=None, rows=None, conv=None, orthogonal=False, **more):
        inputs, outputs = inputs or integer(2, 3) + (0 if conv else 3), outputs or integer(2, 5)
        ranks = ranks or [integer(2, 4)]
        size = (integer(6, 8), integer(6, 8))
        length = inputs * conv**2 if conv else inputs
        orthogonal = orthogonal if isinstance(orthogonal, list) else [orthogonal] * len(ranks)
        rows = [integer(2, 4)] if rows is None else rows
        return {
            "name": f"{'convolution' if conv else 'linear'}, {name}",
            "weight": normal(outputs, inputs, conv, conv) if conv else normal(outputs, inputs),
            "bias": normal(outputs),
            "x": normal(2, inputs, *size) if conv else normal(*rows, inputs),
            "vectors": [vectors(length, rank, alone) for rank, alone in zip(ranks, orthogonal, strict=True)],
            "orthogonal": orthogonal,
            "active": list(range(len(ranks))),
            "settings": {},
            "wave": integer(0, 999),
            "steps": [],
            "dtype": "float32",
            **more,
        }

    for conv, name in ((None, "layer"), (2, "kernels of two"), (3, "kernels of three")):
        yield layer(f"{name}, free", conv=conv)
        yield layer(f"{name}, orthogonal", conv=conv, orthogonal=True)
        yield layer(f"{name}, without a bias", conv=conv, biased=False)
    for conv in (None, 2):
        yield layer("two adapters", ranks=[2, 3], conv=conv)
        yield layer("two adapters in another order", ranks=[3, 2], conv=conv, active=[1, 0], orthogonal=[False, True])
        yield layer("one of two adapters", ranks=[2, 3], conv=conv, active=[1], orthogonal=[True, False])
        yield layer("merged", ranks=[2, 3], conv=conv, steps=["merge"])
        yield layer("disabled", conv=conv, steps=["disable"])
        yield layer("merged, then disabled", ranks=[3, 2], conv=conv, steps=["merge", "disable"])
        yield layer("merged, disabled and enabled", conv=conv, steps=["merge", "disable", "enable"])
    yield layer("a square one", 4, 4)
    yield layer("three dimensions", rows=[2, 3])
    yield layer("kernels of one", 4, 4, conv=1)
    for stride, padding in ((2, 0), (1, 1), (3, 2)):
        settings = {"stride": stride, "padding": padding}
        yield layer(f"stride {stride}, padding {padding}", conv=integer(2, 3), settings=settings)
    yield {"name": "experiment", "seed": seed % 1000}

    for orthogonal in (False, True):
        given = chain("bfloat16", 6, 2, orthogonal, "bfloat16", edge=True)
        yield given | {"vectors": torch.linalg.qr(given["vectors"]).Q + 0.1 * normal(6, 2)}
        for power in (-2, 2):
            given = chain(f"norms about 10^{power}", orthogonal=orthogonal, edge=True)
            yield given | {"vectors": 10**power * given["vectors"]}
    yield chain("more than inputs", 3, integer(5, 7), edge=True)
    for conv, dtype in product((None, 2), ("float64", "bfloat16")):
        yield layer(f"inputs in {dtype}", conv=conv, dtype=dtype, ranks=[2], edge=True)
    for conv in (None, 2):
        yield layer("an adapter that the layer has not", ranks=[2, 3], conv=conv, active=[0, 9, 1], edge=True)
        yield layer("no active adapter", conv=conv, active=[], edge=True)
        changes = ["vectors", "weight", "bias", "orthogonalise", "activate"]
        yield layer("changes", 6 if conv is None else 2, ranks=[2, 3], conv=conv, steps=changes, active=[0], edge=True)
        yield layer("arguments", conv=conv, steps=["disable"], arguments=True, edge=True)
        yield layer("arguments, merged", conv=conv, steps=["merge"], arguments=True, edge=True)
    yield layer("a vector", rows=[], edge=True)
    yield layer("no rows", rows=[2, 0], edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    return _start(case) if "drawn" in case else _chain(case) if "weights" in case else _layer(case)


def _made(inputs, outputs, conv, rank, orthogonal, biased=True, **settings):
    from peft.tuners.hra import HRAConv2d, HRALinear

    kind, wrapper = (torch.nn.Conv2d, HRAConv2d) if conv else (torch.nn.Linear, HRALinear)
    base = kind(inputs, outputs, *[conv] * bool(conv), bias=biased, **settings)
    base.register_forward_pre_hook(_with_arguments, with_kwargs=True)
    layer = wrapper(base, "adapter 0", r=rank, apply_GS=orthogonal, init_weights=False)
    return base, layer.train(not conv)


def _with_arguments(base, arguments, more):
    """Let a layer take a factor and an addend for its input, which the plain one does not know."""
    x, factor = (*arguments, 1.0)[:2]
    return (factor * x + more.get("more", 0.0),), {}


def _state(layer):
    """What a call leaves as it is."""
    return [dict(layer.hra_r), dict(layer.hra_apply_GS), layer.training, layer.hra_u.training]


def _start(case):
    _, layer = _made(case["length"], 3, case["conv"], case["rank"], False)
    layer.update_layer("adapter 1", case["rank"] + 2, False, False)
    other = layer.hra_u["adapter 0"].detach().clone()
    layer.requires_grad_(True)
    torch.manual_seed(case["drawn"])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        layer.reset_hra_parameters("adapter 1")
    found = layer.hra_u["adapter 1"]
    facts = [len(told) > 0, isinstance(found, torch.nn.Parameter), found.requires_grad, str(found.dtype)]
    facts += [torch.equal(other, layer.hra_u["adapter 0"]), _state(layer)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer.update_layer("adapter 2", case["rank"] + 1, False, False)
        layer.reset_hra_parameters("adapter 2")
    return {"single": [found.detach(), layer.hra_u["adapter 2"].detach()], "facts": facts}


def _chain(case):
    length, rank = case["vectors"].shape
    conv = case["conv"]
    _, layer = _made(length // conv**2 if conv else length, 3, conv, rank, case["orthogonal"])
    held = torch.nn.Parameter(case["vectors"].to(getattr(torch, case["dtype"])))
    layer.hra_u["adapter 0"] = held
    kept = held.detach().clone()
    results, facts = [], []
    for options in ({}, {"reverse": True}):
        found = layer.get_delta_weight("adapter 0", **options)
        facts.append([str(found.dtype), list(found.shape), found.requires_grad])
        gradient = torch.autograd.grad((found * case["weights"].to(found.dtype)).sum(), held)[0]
        results += [found.detach().double(), (gradient * held.norm(dim=0)).detach().double()]
    facts += [torch.equal(held.detach(), kept), _state(layer)]
    other = held.detach()[:, : max(1, rank - 1)].flip(0)
    layer.update_layer("adapter 1", other.shape[1], case["orthogonal"], False)
    layer.hra_u["adapter 1"] = torch.nn.Parameter(other)
    results.append(layer.get_delta_weight("adapter 1").detach().double())
    if case["dtype"] == "bfloat16":
        return {"half": results[::2], "facts": facts}
    return {"double" if case["dtype"] == "float64" else "single": results, "facts": facts}


def _layer(case):
    outputs, inputs, conv = *case["weight"].shape[:2], case["weight"].shape[2] if case["weight"].dim() == 4 else None
    biased = case.get("biased", True)
    first = case["vectors"][0].shape[1], case["orthogonal"][0]
    base, layer = _made(inputs, outputs, conv, *first, biased, **case["settings"])
    with torch.no_grad():
        base.weight.copy_(case["weight"])
        if biased:
            base.bias.copy_(case["bias"])
    names = [f"adapter {number}" for number in range(len(case["vectors"]))]
    for name, orthogonal, vectors in zip(names, case["orthogonal"], case["vectors"], strict=True):
        if name not in layer.hra_u:
            layer.update_layer(name, vectors.shape[1], orthogonal, False)
        layer.hra_u[name] = torch.nn.Parameter(vectors.float())
    layer.set_adapter([names[number] if number < len(names) else "another" for number in case["active"]])
    layer.requires_grad_(True)
    x = case["x"].to(getattr(torch, case["dtype"])).requires_grad_()
    kept = x.detach().clone()
    given = {name: item.detach().clone() for name, item in layer.state_dict().items()}
    results, facts = [], []
    arguments = [2.5] if case.get("arguments") else []
    more = {"more": 0.5} if case.get("arguments") else {}
    for place, step in enumerate((None, *case["steps"])):
        with torch.no_grad():
            _changed(layer, base, step)
        inputs = x * (1 + place)
        output = layer(inputs, *arguments, **more) if step in ("merge", "disable") else layer(inputs)
        facts.append([str(output.dtype), list(output.shape), list(layer.merged_adapters), _state(layer)])
        results += [output.detach().double(), base.weight.detach().double()]
    torch.manual_seed(case["wave"])
    (output * torch.randn(output.shape).to(output.dtype)).sum().backward()
    for item in (x, *([base.bias] if biased else []), *layer.hra_u.values()):
        facts.append(item.grad is None)
        if item.grad is not None:
            results.append(item.grad.double())
    if not case["steps"]:
        facts.append(base.weight.grad is None)
        facts.append([torch.equal(item.detach(), given[name]) for name, item in layer.state_dict().items()])
    facts.append(torch.equal(x.detach(), kept))
    return {"half" if case["dtype"] == "bfloat16" else "single": results, "facts": facts}


def _changed(layer, base, step):
    if step == "merge":
        layer.merge()
    elif step in ("disable", "enable"):
        layer.enable_adapters(step == "enable")
    elif step == "vectors":
        layer.hra_u["adapter 0"][0] += 0.5
    elif step == "weight":
        base.weight.mul_(0.7)
    elif step == "bias":
        base.bias.add_(0.5)
    elif step == "orthogonalise":
        layer.hra_apply_GS["adapter 0"] = True
    elif step == "activate":
        layer.set_adapter(["adapter 1"])
