"""Starts and chains of HRA, and the outputs of linear layers and convolutions with gradients; then the experiment."""

import copy
import warnings

import torch

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def vectors(length, rank, apart=False, least=0.15):
        # For orthogonalised vectors none is nearly in the span of those before it.
        while True:
            drawn = normal(length, rank)
            left = torch.linalg.qr(drawn).R.diagonal().abs() / drawn.norm(dim=0) if rank <= length else None
            if (drawn.norm(dim=0) > 0.1).all() and (not apart or left.min() > least):
                return drawn

    def begin(name, length=6, rank=4, **more):
        return {
            "name": f"start, {name}",
            "kind": "start",
            "length": length,
            "rank": rank,
            "conv": None,
            "again": False,
            **more,
        }

    for rank in (1, 2, 3, 4, 7, 8):
        yield begin(f"{rank} vectors", rank=rank)
    yield begin("one input", length=1, rank=2)
    yield begin("more vectors than inputs", length=3, rank=8)
    yield begin("a convolution", length=2, rank=4, conv=3)
    yield begin("a convolution, odd", length=2, rank=5, conv=3)
    yield begin("of vectors that are there", again=True)
    yield begin("of odd vectors that are there", rank=3, again=True)

    def chain(name, length=6, rank=3, orthogonal=False, dtype="float32", least=0.15, **more):
        return {
            "name": f"chain, {name}{', orthogonal' if orthogonal else ''}",
            "kind": "chain",
            "vectors": vectors(length, rank, orthogonal, least),
            "weights": normal(length, length),
            "orthogonal": orthogonal,
            "dtype": dtype,
            "layout": "contiguous",
            "conv": None,
            **more,
        }

    for orthogonal in (False, True):
        yield chain("three vectors", orthogonal=orthogonal)
        yield chain("one vector", rank=1, orthogonal=orthogonal)
        yield chain("two vectors", rank=2, orthogonal=orthogonal)
        yield chain("many vectors", 40, 10, orthogonal)
        yield chain("as many as entries", 3, 3, orthogonal)
        yield chain("one entry", 1, 1, orthogonal)
        yield chain("double precision", orthogonal=orthogonal, dtype="float64")
        yield chain("double precision, two vectors", rank=2, orthogonal=orthogonal, dtype="float64")
        # Gradients are sums of terms that are rounded in half precision; they are kept as small as the terms.
        given = chain("half precision", rank=2, orthogonal=orthogonal, dtype="bfloat16", least=0.8)
        yield given | {"weights": 0.3 * given["weights"]}
        yield chain("a convolution's", 18, 4, orthogonal, conv=3)
        yield chain("a convolution's, double precision", 8, 3, orthogonal, "float64", conv=2)
        for layout in ("transposed", "spread"):
            yield chain(f"a layout that is {layout}", orthogonal=orthogonal, layout=layout)
        for factor in (0.002, 200.0):
            given = chain(f"norms about {factor}", orthogonal=orthogonal, dtype="float64")
            yield given | {"vectors": factor * given["vectors"]}
            given = chain(f"norms about {factor}, single precision", orthogonal=orthogonal)
            yield given | {"vectors": factor * given["vectors"]}
        given = chain("norms far apart", orthogonal=orthogonal, dtype="float64")
        yield given | {"vectors": given["vectors"] * torch.tensor([0.01, 1.0, 100.0], dtype=torch.float64)}
    # Little of the second vector is left; gradients in single precision lose two digits where it is a tenth.
    for dtype, left in {"float32": 0.3, "float64": 0.105}.items():
        given = chain(f"nearly dependent vectors, {dtype}", 7, 3, True, dtype)
        units = torch.linalg.qr(given["vectors"]).Q
        given["vectors"][:, 1] = units[:, 0] + left * units[:, 1]
        yield given
    yield given | {"name": "chain, short and nearly dependent vectors", "vectors": 1.1e-3 * given["vectors"]}
    for orthogonal in (False, True):
        given = chain("a convolution's, half precision", 8, 2, orthogonal, "bfloat16", 0.8, conv=2)
        yield given | {"weights": 0.3 * given["weights"]}
    yield chain("more than entries", 4, 9)
    yield chain("32 vectors", 20, 32)
    given = chain("vectors in pairs", rank=4)
    given["vectors"][:, 1] = given["vectors"][:, 0]
    given["vectors"][:, 3] = -2 * given["vectors"][:, 2]
    yield given
    given = chain("vectors along the axes", 4, 3)
    yield given | {"vectors": torch.eye(4, dtype=torch.float64)[:, [2, 0, 3]]}
    given = chain("vectors along the axes", 4, 3, True)
    yield given | {"vectors": torch.eye(4, dtype=torch.float64)[:, [2, 0, 3]]}

    def layer(name, inputs=6, outputs=5, ranks=(3,), x=(4,), **more):
        conv = more.get("conv")
        length = inputs * conv**2 if conv else inputs
        orthogonal = more.pop("orthogonal", False)
        return {
            "name": f"{'convolution' if conv else 'linear'}, {name}",
            "kind": "layer",
            "weight": normal(outputs, inputs, conv, conv) if conv else normal(outputs, inputs),
            "bias": normal(outputs),
            "x": normal(*x, inputs, *more.pop("size", (7, 6))) if conv else normal(*x, inputs),
            "vectors": [vectors(length, rank, orthogonal) for rank in ranks],
            "orthogonal": [orthogonal] * len(ranks),
            "active": list(range(len(ranks))),
            "x dtype": "float32",
            "biased": True,
            "conv": None,
            "stride": 1,
            "padding": 0,
            "layout": "contiguous",
            "far": False,
            "training": True,
            **more,
        }

    yield layer("an ordinary one")
    yield layer("an ordinary one, orthogonal", orthogonal=True)
    yield layer("a square", 5, 5)
    yield layer("one vector", ranks=(1,))
    yield layer("one output", outputs=1)
    yield layer("one input", inputs=1, ranks=(1,))
    yield layer("all of one", 1, 1, (2,))
    yield layer("more vectors than inputs", 3, 4, (8,))
    yield layer("in evaluation", ranks=(3, 2), training=False)
    yield layer("in evaluation", 2, 3, conv=3, training=False)
    yield layer("a large one", 96, 40, (8,))
    yield layer("a large one, orthogonal", 96, 40, (12,), orthogonal=True)
    yield layer("a vector", x=())
    yield layer("one row", x=(1,))
    yield layer("no rows", x=(0,))
    yield layer("three dimensions", x=(2, 3))
    yield layer("four dimensions", x=(2, 1, 3))
    yield layer("no rows of a batch", x=(2, 0))
    yield layer("without a bias", biased=False)
    yield layer("two adapters", ranks=(3, 2))
    yield layer("two adapters of a square", 5, 5, ranks=(3, 2))
    yield layer("three adapters", ranks=(1, 2, 3))
    yield layer("two adapters in another order", ranks=(3, 2), active=[1, 0])
    yield layer("one of two adapters", ranks=(3, 2), active=[1])
    yield layer("an adapter that the layer has not", ranks=(3, 2), active=[0, 9, 1])
    yield layer("no adapter that the layer has", active=[9])
    yield layer("no active adapter", active=[])
    given = layer("one orthogonal, one free", ranks=(3, 2), orthogonal=True)
    yield given | {"orthogonal": [True, False]}
    yield layer("inputs in double precision", **{"x dtype": "float64"})
    yield layer("inputs in half precision", **{"x dtype": "bfloat16"})
    given = layer("large inputs", far=True)
    yield given | {"x": 25 * given["x"]}
    for layout in ("transposed", "spread"):
        yield layer(f"a layout that is {layout}", layout=layout)

    yield layer("an ordinary one", 2, 4, conv=3)
    yield layer("an ordinary one, orthogonal", 2, 4, conv=3, orthogonal=True)
    yield layer("kernels of one", 4, 4, conv=1)
    yield layer("kernels of two", 3, 2, conv=2, padding=1)
    yield layer("kernels of five", 1, 3, conv=5, padding=2)
    yield layer("as many channels", 3, 3, conv=3, padding=1)
    yield layer("a stride", 2, 3, conv=3, stride=2)
    yield layer("a stride and padding", 2, 3, conv=2, stride=3, padding=2)
    yield layer("one image", 2, 3, x=(1,), conv=3)
    yield layer("three images", 2, 3, x=(3,), conv=3)
    yield layer("without a bias", 2, 3, conv=3, biased=False)
    yield layer("two adapters", 2, 3, (3, 2), conv=2, x=(2,))
    yield layer("two adapters in another order", 2, 3, (3, 2), conv=2, active=[1, 0])
    yield layer("an adapter that the layer has not", 2, 3, (3, 2), conv=2, active=[9, 1])
    yield layer("no active adapter", 2, 3, conv=2, active=[])
    yield layer("inputs in half precision", 2, 3, conv=3, **{"x dtype": "bfloat16"})
    yield layer("inputs in double precision", 2, 3, conv=3, **{"x dtype": "float64"})
    yield layer("spread in memory", 2, 3, conv=3, layout="spread")
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    return {"start": _start, "chain": _chain, "layer": _layer}[case["kind"]](case)


def _laid_out(item, layout):
    if layout == "transposed":
        return item.mT.contiguous().mT if item.dim() > 1 else item.clone()
    if layout == "spread":
        return item.new_zeros(*item.shape[:-1], 2 * item.shape[-1])[..., ::2].copy_(item)
    return item.clone(memory_format=torch.contiguous_format)


def _sorted(results, dtype, far=False):
    name = {2: "half", 4: "far" if far else "single", 8: "double"}[dtype.itemsize]
    return {name: {key: item.detach().double() for key, item in results.items()}}


def _made(inputs, outputs, conv, rank=1, orthogonal=False, **settings):
    from peft.tuners.hra import HRAConv2d, HRALinear

    if conv:
        more = {name: settings[name] for name in ("stride", "padding") if name in settings}
        base = torch.nn.Conv2d(inputs, outputs, conv, bias=settings.get("biased", True), **more)
        return base, HRAConv2d(base, "adapter 0", r=rank, apply_GS=orthogonal, init_weights=False)
    base = torch.nn.Linear(inputs, outputs, bias=settings.get("biased", True))
    return base, HRALinear(base, "adapter 0", r=rank, apply_GS=orthogonal, init_weights=False)


def _modes(layer):
    return [module.training for module in layer.modules()]


def _start(case):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        _, layer = _made(case["length"], 3, case["conv"], case["rank"])
        found = []
        results = {}
        for seed in (1, 2) if case["again"] else (1,):
            torch.manual_seed(seed)
            layer.train(seed == 1)
            before = len(told)
            returned = layer.reset_hra_parameters("adapter 0")
            item = layer.hra_u["adapter 0"]
            results[f"next number {seed}"] = torch.rand(1)
            results[f"vectors {seed}"] = item.detach().clone()
            found.append(
                [returned is None, len(told) - before, [issubclass(one.category, UserWarning) for one in told[before:]]]
            )
            found.append(
                [type(item) is torch.nn.Parameter, item.requires_grad, item.is_leaf, str(item.dtype), list(item.shape)]
            )
            if case["rank"] % 2 == 0:
                found.append(torch.equal(item[:, ::2], item[:, 1::2]))
            found.append(_modes(layer))
        # An adapter that has come later.
        layer.update_layer("later", case["rank"] + 1, False, False)
        torch.manual_seed(3)
        layer.reset_hra_parameters("later")
        results["vectors of another adapter"] = layer.hra_u["later"].detach()
        found.append([name for name, _ in layer.named_parameters()])
        found.append([layer.hra_r, layer.hra_apply_GS])
    return _sorted(results, torch.float32) | {"found": found}


def _chain(case):
    dtype = DTYPES[case["dtype"]]
    length, rank = case["vectors"].shape
    conv = case["conv"]
    _, layer = _made(length // conv**2 if conv else length, 3, conv, rank, case["orthogonal"])
    held = torch.nn.Parameter(_laid_out(case["vectors"].to(dtype), case["layout"]))
    layer.hra_u["adapter 0"] = held
    kept = held.detach().clone()
    results, facts = {}, []
    for reverse in (False, True):
        held.grad = None
        layer.train(reverse)
        found = layer.get_delta_weight("adapter 0", reverse=reverse)
        facts.append([str(found.dtype), list(found.shape), found.requires_grad])
        results[f"chain, {reverse}"] = found.clone()
        (found * case["weights"].to(found.dtype)).sum().backward()
        results[f"gradient, {reverse}"] = held.grad * held.detach().norm(dim=0)
        facts.append([str(held.grad.dtype), _modes(layer)])
    with torch.no_grad():
        results["by default"] = layer.get_delta_weight("adapter 0")
        results["by position"] = layer.get_delta_weight("adapter 0", True)
        results["back and forth"] = layer.get_delta_weight(adapter_name="adapter 0") @ layer.get_delta_weight(
            "adapter 0", True
        )
        facts.append([torch.equal(held.detach(), kept), list(layer.hra_u), layer.hra_r, layer.hra_apply_GS])
        # An adapter that has come later.
        fewer = max(rank - 1, 1)
        layer.update_layer("later", fewer, not case["orthogonal"] and fewer == 1, False)
        layer.hra_u["later"] = torch.nn.Parameter(held[:, :fewer].detach().flip(0))
        results["another adapter"] = layer.get_delta_weight("later", True)
        if case["dtype"] != "bfloat16":
            # Settings and vectors are read at each call.
            held[0].add_(0.3 * held.norm(dim=0))
            results["other vectors"] = layer.get_delta_weight("adapter 0")
            held.data[0].sub_(0.1 * held.norm(dim=0))
            results["vectors written as data"] = layer.get_delta_weight("adapter 0")
            if rank <= length and not case["orthogonal"]:
                layer.hra_apply_GS["adapter 0"] = rank == 1
                results["the other way"] = layer.get_delta_weight("adapter 0", reverse=True)
    return _sorted(results, dtype) | {"facts": facts}


def _layer(case):
    dtype = DTYPES[case["x dtype"]]
    outputs, inputs = case["weight"].shape[:2]
    base, layer = _made(
        inputs,
        outputs,
        case["conv"],
        case["vectors"][0].shape[1],
        case["orthogonal"][0],
        **{name: case[name] for name in ("stride", "padding", "biased")},
    )
    with torch.no_grad():
        base.weight.copy_(case["weight"])
        if case["biased"]:
            base.bias.copy_(case["bias"])
    if not case["conv"]:
        base.weight.data = _laid_out(base.weight.data, case["layout"])
    names = [f"adapter {number}" for number in range(len(case["vectors"]))]
    for name, orthogonal, vectors in zip(names, case["orthogonal"], case["vectors"], strict=True):
        if name not in layer.hra_u:
            layer.update_layer(name, vectors.shape[1], orthogonal, False)
        layer.hra_u[name] = torch.nn.Parameter(_laid_out(vectors.float(), case["layout"]))
    layer.set_adapter([names[number] if number < len(names) else "another" for number in case["active"]])
    layer.train(case["training"]).requires_grad_(True)
    x = _laid_out(case["x"].to(dtype), case["layout"]).requires_grad_()
    kept = x.detach().clone()
    state = {name: item.detach().clone() for name, item in layer.state_dict().items()}
    attributes = sorted(vars(layer))
    called = []
    hook = base.register_forward_pre_hook(lambda module, given: called.append(str(given[0].dtype)))
    results, facts = {}, {}
    output = layer(x)
    facts["output"] = [str(output.dtype), list(output.shape), output.requires_grad]
    results["output"] = output.clone()
    wave = torch.linspace(-1, 2, output.numel(), dtype=torch.float64).cos().to(output.dtype).reshape(output.shape)
    if output.requires_grad:
        (output * wave).sum().backward()
    for name, item in {"x": x, **dict(layer.named_parameters())}.items():
        facts[f"gradient of {name}"] = None if item.grad is None else str(item.grad.dtype)
        if item.grad is not None:
            results[f"gradient of {name}"] = item.grad.clone()
    facts["unchanged"] = [
        torch.equal(x.detach(), kept),
        all(torch.equal(item, state[name]) for name, item in layer.state_dict().items()),
        sorted(vars(layer)) == attributes,
        list(called),
        [name for name, item in layer.named_parameters() if item.requires_grad],
        _modes(layer),
    ]
    hook.remove()
    with torch.no_grad():
        results["with arguments"] = layer(x.detach(), 1, extra=2)
        layer.hra_u[names[0]][0].add_(0.4 * layer.hra_u[names[0]].norm(dim=0))
        results["other vectors"] = layer(x.detach())
        layer.hra_u[names[0]].data[0].sub_(0.2 * layer.hra_u[names[0]].norm(dim=0))
        results["vectors written as data"] = layer(x.detach())
        base.weight.mul_(0.7)
        results["another weight"] = layer(x.detach())
        if case["biased"]:
            base.bias.add_(0.5)
            results["another bias"] = layer(x.detach())
        if x.dim() > 1:
            results["fewer"] = layer(x.detach()[:1])
        before = base.weight.detach().clone()
        if dtype == torch.float32:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                layer.merge()
                results["merged weight"] = base.weight.detach().clone()
                results["merged"] = layer(x.detach())
                facts["merged"] = list(layer.merged_adapters)
                layer.enable_adapters(False)
                results["disabled"] = layer(x.detach())
                facts["disabled"] = [list(layer.merged_adapters), layer.disable_adapters]
                results["weight, disabled"] = base.weight - before
                results["disabled again"] = layer(x.detach())
                layer.enable_adapters(True)
                results["enabled"] = layer(x.detach())
            facts["warnings"] = len(told)
    if dtype == torch.float32:
        facts["arguments"] = _arguments(layer, x.detach())
    return _sorted(results, dtype if dtype.itemsize < 4 else torch.float32, case["far"]) | facts


def _arguments(layer, x):
    """What the base layer is called with when the adapters are disabled, and when one is merged."""
    told, kept = [], layer.base_layer

    class Told(type(kept)):
        def forward(self, input, *args, **kwargs):
            told.append([[str(item) for item in args], sorted(kwargs), str(input.dtype)])
            return super().forward(input)

    layer.base_layer = copy.deepcopy(kept)
    layer.base_layer.__class__ = Told
    with torch.no_grad():
        layer(x, 1, extra=2)
        layer.enable_adapters(False)
        outputs = [layer(x, 3, other=4), layer(x.double().float(), 5)]
        layer.enable_adapters(True)
        layer.merged_adapters.append("another")
        outputs.append(layer(x, 6, more=7))
        layer.merged_adapters.clear()
    layer.base_layer = kept
    return [told, [str(item.dtype) for item in outputs]]
