"""Updates of LoHa: both functions with their gradients, then whole layers, then the experiment."""

import torch

SIDES = {"matrix": ("w1a", "w1b", "w2a", "w2b"), "core": ("t1", "w1a", "w1b", "t2", "w2a", "w2b")}
# What has a gradient that is asked for.
TRAINED = {"matrix": ["w1a", "w1b", "w2a", "w2b"], "core": ["t1", "w1b", "t2", "w2b"]}
DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def factors(kind, rows, columns, ranks, places):
        drawn = {}
        for side, rank in zip("12", ranks, strict=True):
            if kind == "core":
                drawn |= {
                    f"t{side}": normal(rank, rank, *places),
                    f"w{side}a": normal(rank, rows),
                    f"w{side}b": normal(rank, columns),
                }
            else:
                drawn |= {f"w{side}a": normal(rows, rank), f"w{side}b": normal(rank, columns)}
        shape = (rows, columns, *places) if kind == "core" else (rows, columns)
        return {"factors": drawn, "weights": normal(*shape)}

    def weight(name, kind, rows=5, columns=7, ranks=(3, 3), places=(3, 2), **more):
        return {
            "name": f"{kind}, {name}",
            "kind": kind,
            **factors(kind, rows, columns, ranks, places),
            "scale": 0.7,
            "scale dtype": "float32",
            "dtype": "float32",
            "layout": "contiguous",
            "incoming": "contiguous",
            "wanted": TRAINED[kind],
            "far": False,
            **more,
        }

    for kind, sides in SIDES.items():
        yield weight("a few ranks", kind)
        yield weight("rank one", kind, ranks=(1, 1))
        yield weight("other ranks", kind, ranks=(2, 5))
        yield weight("more ranks than rows", kind, rows=2, columns=3, ranks=(6, 4))
        yield weight("as many of all", kind, rows=3, columns=3, places=(3, 3))
        yield weight("one row", kind, rows=1)
        yield weight("one column", kind, columns=1)
        yield weight("all of one", kind, rows=1, columns=1, ranks=(1, 1), places=(1, 1))
        yield weight("one place", kind, places=(1, 1))
        many = weight("many rows", kind, rows=150, columns=20, ranks=(16, 16), places=(1, 2))
        many["factors"] = {name: 0.4 * item for name, item in many["factors"].items()}
        yield many
        yield weight("double precision", kind, dtype="float64", scale=0.75)
        yield weight("double precision of all", kind, dtype="float64", **{"scale": 1 / 3, "scale dtype": "float64"})
        yield weight("double precision of the scale", kind, **{"scale dtype": "float64"})
        # Few terms, so that what is rounded on the way does not add up.
        small = weight("half precision", kind, ranks=(2, 2), dtype="bfloat16")
        small["factors"] = {name: 0.5 * item.sign() + 0.25 * item for name, item in small["factors"].items()}
        yield small
        # Equal terms, which a sum that is rounded at each of them loses a part of.
        equal = weight("half precision of equal rows", kind, 200, 3, (1, 1), (1, 1), dtype="bfloat16", scale=1.0)
        ones = {name: torch.ones_like(item) for name, item in equal["factors"].items()}
        yield equal | {"factors": ones, "weights": torch.full_like(equal["weights"], 0.3)}
        yield small | {"name": f"{kind}, half precision but for the scale", "scale dtype": "float64", "scale": -2.0}
        for scale in (0.0, 1.0, -1.5, 40.0):
            yield weight(f"a scale of {scale}", kind, scale=scale, far=scale > 10)
        yield weight("no scale", kind, scale=None)
        yield weight("a scale that asks for a gradient", kind, **{"scale wants": True})
        for layout in ("transposed", "spread", "expanded"):
            yield weight(f"a layout that is {layout}", kind, layout=layout)
        for incoming in ("expanded", "transposed", "zero"):
            yield weight(f"a gradient that is {incoming}", kind, incoming=incoming)
        for name in TRAINED[kind]:
            yield weight(f"a gradient of {name} alone", kind, wanted=[name])
        for name in sides:
            zero = weight(f"{name} of zero", kind)
            zero["factors"][name].zero_()
            yield zero
        for name in sides:
            large = weight(f"large {name}", kind, far=True)
            large["factors"][name] *= 100
            yield large
        tiny = weight("small factors", kind, scale=1e6)
        tiny["factors"] = {name: 1e-3 ** (4 / len(sides)) * item * 10 for name, item in tiny["factors"].items()}
        yield tiny
        yield weight("no gradient", kind, wanted=[])
        yield weight("by hand", kind) | {"direct": True}

    def layer(name, base=("linear", 5, 7), effective=False, ranks=(3,), **more):
        # Two adapters or more, each with factors of its own.
        adapters = []
        outputs, inputs = base[1:3]
        places = tuple(base[3:]) or (1, 1)
        for rank, effective_one in zip(
            ranks, effective if isinstance(effective, tuple) else [effective] * 9, strict=False
        ):
            core = effective_one and places != (1, 1)
            width = inputs if core else inputs * places[0] * places[1]
            given = factors("core" if core else "matrix", outputs, width, (rank, rank), places)["factors"]
            kind = {"effective": effective_one, "alpha": 1.5 * rank + len(adapters)}
            adapters.append({"rank": rank, **kind, "factors": given})
        return {
            "name": f"layer, {name}",
            "base": list(base),
            "adapters": adapters,
            "weights": normal(outputs, inputs, *places) if base[0] == "conv" else normal(outputs, inputs),
            "training": False,
            "dropout": 0.0,
            "dtype": "float32",
            **more,
        }

    convolution = ("conv", 6, 5, 3, 2)
    yield layer("linear")
    yield layer("one row", base=("linear", 1, 4), ranks=(2,))
    yield layer("one column", base=("linear", 4, 1), ranks=(2,))
    yield layer("a square", base=("linear", 6, 6), ranks=(2,))
    yield layer("kernels as a matrix", base=convolution)
    yield layer("kernels as a matrix, channels last", base=convolution) | {"channels last": True}
    yield layer("kernels with a core", base=convolution, effective=True)
    yield layer("square kernels with a core", base=("conv", 4, 4, 4, 4), effective=True, ranks=(4,))
    yield layer("kernels of one place", base=("conv", 6, 5, 1, 1), effective=True)
    yield layer("two adapters", ranks=(2, 4))
    yield layer("two adapters of kernels", base=convolution, effective=True, ranks=(3, 1))
    for kinds in ((True, False), (False, True)):
        yield layer(f"a core in one of two adapters, {kinds}", base=convolution, effective=kinds, ranks=(2, 3))
    yield layer("double precision", dtype="float64", ranks=(2,))
    yield layer("double precision with a core", base=convolution, effective=True, dtype="float64", ranks=(2,))
    half = layer("half precision", dtype="bfloat16", ranks=(2,))
    half["adapters"][0]["factors"] = {name: 0.4 * item for name, item in half["adapters"][0]["factors"].items()}
    yield half
    for dropout in (0.0, 0.3, 0.6):
        for base in (("linear", 30, 4), ("conv", 30, 3, 2, 2)):
            for effective in (False, True):
                if base[0] == "conv" or not effective:
                    kind = f"{base[0]}{', core' if effective else ''}"
                    yield layer(
                        f"dropout {dropout} in training, {kind}", base, effective, training=True, dropout=dropout
                    )
    yield layer("dropout out of training", ("linear", 30, 4), dropout=0.5)
    yield layer(
        "dropout in double precision", ("linear", 30, 4), dropout=0.5, dtype="float64", training=True, ranks=(2,)
    )
    half = layer(
        "dropout in half precision", ("linear", 40, 4), dropout=0.25, dtype="bfloat16", training=True, ranks=(2,)
    )
    half["adapters"][0]["factors"] = {name: 0.4 * item for name, item in half["adapters"][0]["factors"].items()}
    yield half
    yield layer("little dropout of many rows", ("linear", 200, 2), dropout=0.01, training=True)
    yield layer("much dropout of many rows", ("linear", 200, 2), dropout=0.9, training=True)
    yield layer("a number that equals the dropout", ("linear", 30, 4), training=True) | {"equal": 3}
    yield layer("two adapters with dropout", ("linear", 30, 4), dropout=0.4, training=True, ranks=(2, 3))
    yield {"name": "an adapter that is not there", "missing": True}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "missing" in case:
        return _missing()
    return _layer(case) if "base" in case else _weight(case)


def _weight(case):
    from peft.tuners.loha import layer

    function = layer.HadaWeightCP if case["kind"] == "core" else layer.HadaWeight
    make = layer.make_weight_cp if case["kind"] == "core" else layer.make_weight
    dtype = DTYPES[case["dtype"]]
    inputs = {
        name: _laid_out(case["factors"][name].to(dtype, copy=True), case["layout"]) for name in SIDES[case["kind"]]
    }
    scale = None
    if case["scale"] is not None:
        scale = torch.tensor(case["scale"], dtype=DTYPES[case["scale dtype"]], requires_grad="scale wants" in case)
    for name in case["wanted"]:
        inputs[name].requires_grad_()
    before = {name: item.detach().clone() for name, item in inputs.items()}
    # A name is given to each of what may be named.
    if scale is None:
        output = function.apply(*inputs.values())
    elif "direct" in case:
        output = function.apply(*inputs.values(), scale)
    else:
        output = make(**inputs, scale=scale)
    incoming = _laid_out(case["weights"].to(dtype, copy=True), case["incoming"])
    came = incoming.clone()
    results = {"output": output.detach().clone()}
    facts = {"dtype": str(output.dtype), "shape": list(output.shape), "has a gradient": output.requires_grad}
    # Another call, with other factors, comes ahead of the backward pass.
    results["again"] = function.apply(*[0.5 * item.detach() for item in inputs.values()], torch.tensor(1.25))
    if case["wanted"]:
        for time in ("first", "second"):
            factor = 1 if time == "first" else -0.5
            wanted = [inputs[name] for name in case["wanted"]]
            gradients = torch.autograd.grad(
                output, wanted, incoming * factor if time == "second" else incoming, retain_graph=True
            )
            for name, gradient in zip(case["wanted"], gradients, strict=True):
                results[f"{name}, {time}"] = gradient
                facts[f"{name}, {time}"] = [str(gradient.dtype), list(gradient.shape)]
    if scale is not None:
        facts["gradient of the scale"] = scale.grad is not None
        facts["scale"] = [scale.item(), str(scale.dtype)]
        if scale.requires_grad:
            (gradient,) = torch.autograd.grad(output.sum(), [scale], retain_graph=True, allow_unused=True)
            facts["gradient of the scale"] = gradient is not None
    facts["incoming unchanged"] = torch.equal(incoming, came)
    facts["unchanged"] = all(torch.equal(item.detach(), before[name]) for name, item in inputs.items())
    # The result is the caller's own.
    with torch.no_grad():
        output.detach().zero_()
    facts["unchanged later"] = all(torch.equal(item.detach(), before[name]) for name, item in inputs.items())
    return _sorted(results, case["dtype"], case["far"]) | facts


def _layer(case):
    from peft.tuners import loha

    dtype = DTYPES[case["dtype"]]
    kind, outputs, inputs, *places = case["base"]
    if kind == "linear":
        base = torch.nn.Linear(inputs, outputs, dtype=dtype)
    else:
        base = torch.nn.Conv2d(inputs, outputs, tuple(places), stride=(1, 2), padding=(0, 1), dtype=dtype)
    if "channels last" in case:
        base.to(memory_format=torch.channels_last)
    settings = {"rank_dropout": case["dropout"], "module_dropout": 0.0, "init_weights": False}
    layer = None
    names = [f"adapter {number}" for number in range(len(case["adapters"]))]
    for name, adapter in zip(names, case["adapters"], strict=True):
        given = {"adapter_name": name, "r": adapter["rank"], "alpha": adapter["alpha"], **settings}
        if kind == "conv":
            given["use_effective_conv2d"] = adapter["effective"]
        if layer is None:
            layer = (loha.Linear if kind == "linear" else loha.Conv2d)(base, **given)
        else:
            layer.update_layer(**given)
        with torch.no_grad():
            for factor, item in adapter["factors"].items():
                place = f"hada_{factor}" if factor[0] == "t" else f"hada_{factor[:2]}_{factor[2]}"
                getattr(layer, place)[name].copy_(item)
    layer.set_adapter(names)
    layer.train(case["training"])
    # The mode of the layer is what counts, not that of the layer below it.
    base.train(not case["training"])
    if "equal" in case:
        torch.manual_seed(11)
        layer.rank_dropout[names[0]] = torch.rand(outputs)[case["equal"]].item()
    attributes = sorted(vars(layer))
    state = {name: item.detach().clone() for name, item in layer.state_dict().items()}
    results, facts = {}, {}
    torch.manual_seed(11)
    for name in names:
        update = layer.get_delta_weight(name)
        results[f"{name}, update"] = update.detach().clone()
        facts[f"{name}, facts"] = [str(update.dtype), list(update.shape), update.requires_grad]
        layer.zero_grad()
        (update * case["weights"].to(dtype)).sum().backward()
        for parameter, item in layer.named_parameters():
            side, _, owner = parameter.partition(".")
            if side in ("hada_w1_a", "hada_w2_a") and "t1" in case["adapters"][names.index(owner)]["factors"]:
                continue
            facts[f"{name}, {parameter}"] = None if item.grad is None else str(item.grad.dtype)
            if item.grad is not None:
                results[f"{name}, {parameter}"] = item.grad.clone()
    # How many numbers were drawn.
    facts["next number"] = torch.rand(1).item()
    with torch.no_grad():
        # What was returned may be changed by its owner, and the settings of the layer later on.
        update = layer.get_delta_weight(names[0])
        update.zero_()
        results["whole"] = update
        facts["state"] = all(torch.equal(item, state[name]) for name, item in layer.state_dict().items())
        facts["modes"] = [module.training for module in layer.modules()]
        facts["attributes"] = sorted(vars(layer)) == attributes
        facts["settings"] = [dict(layer.scaling), dict(layer.rank_dropout), layer.training]
        layer.scale_layer(-0.5)
        layer.rank_dropout[names[0]] = 0.25 if outputs >= 30 and case["dropout"] != 0.25 else 0.0
        results["other settings"] = layer.get_delta_weight(names[0])
        layer.train(not case["training"])
        results["other mode"] = layer.get_delta_weight(names[0])
        for parameter in layer.parameters():
            parameter.mul_(0.75)
        layer.eval()
        results["other factors"] = layer.get_delta_weight(names[-1])
        # Nothing of a tensor tells that its data were changed.
        for parameter in layer.parameters():
            parameter.data.mul_(0.75)
        results["other data"] = layer.get_delta_weight(names[-1])
        layer.merge(safe_merge=True)
        results["merged"] = base.weight.clone()
        layer.unmerge()
        results["unmerged"] = base.weight.clone()
    for parameter in layer.parameters():
        parameter.requires_grad_(False)
    facts["without a gradient"] = layer.get_delta_weight(names[0]).requires_grad
    return _sorted(results, case["dtype"], False) | facts


def _missing():
    from peft.tuners import loha

    raised = []
    linear = loha.Linear(torch.nn.Linear(3, 4), adapter_name="a", r=2, alpha=1.0, init_weights=False)
    convolution = loha.Conv2d(torch.nn.Conv2d(3, 4, 3), adapter_name="a", r=2, alpha=1.0, use_effective_conv2d=True)
    for layer in (linear, convolution):
        for name in ("b", ""):
            try:
                layer.get_delta_weight(name)
            except (AttributeError, KeyError):
                raised.append(True)
            else:
                raised.append(False)
    return {"raised": raised}


def _sorted(results, dtype, far):
    results = {name: item.double() for name, item in results.items()}
    name = {"float32": "far" if far else "single", "float64": "double", "bfloat16": "half"}[dtype]
    return {name: results}


def _laid_out(item, layout):
    if layout == "transposed":
        return item.transpose(0, 1).contiguous().transpose(0, 1)
    if layout == "expanded":
        return item[:1].clone().expand_as(item)
    if layout == "spread":
        return item.new_zeros(*item.shape[:-1], 2 * item.shape[-1])[..., ::2].copy_(item)
    return torch.zeros_like(item) if layout == "zero" else item.contiguous()
