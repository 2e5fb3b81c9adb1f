"""DoRA's norms and magnitudes, outputs of linear layers, embeddings and convolutions with gradients; the experiment."""

import torch

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16, "float16": torch.float16}


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def norms(name, shape=(5, 7), scaling=0.7, dtype="float32", **more):
        return {
            "name": f"norms, {name}",
            "kind": "norms",
            "weight": normal(*shape),
            "update": normal(*shape),
            "weights": normal(shape[0]),
            "scaling": scaling,
            "dtype": dtype,
            "update dtype": dtype,
            "turned": False,
            "layout": "contiguous",
            "far": False,
            "parameter": True,
            **more,
        }

    for turned in (False, True):
        also = ", inputs first" if turned else ""
        yield norms(f"of a matrix{also}", turned=turned)
        yield norms(f"of a square{also}", (4, 4), turned=turned)
        yield norms(f"no parameter{also}", turned=turned, parameter=False)
        yield norms(f"one output{also}", (1, 6), turned=turned)
        yield norms(f"one input{also}", (6, 1), turned=turned)
        yield norms(f"spread in memory{also}", turned=turned, layout="spread")
        yield norms(f"transposed in memory{also}", turned=turned, layout="transposed")
        yield norms(f"columns of a wider matrix{also}", turned=turned, layout="columns")
        yield norms(f"double precision{also}", turned=turned, dtype="float64")
        yield norms(f"half precision{also}", turned=turned, dtype="bfloat16")
    yield norms("wide", (3, 256))
    yield norms("a scaling of zero", scaling=0)
    yield norms("a scaling of one", scaling=1)
    yield norms("a scaling below zero", scaling=-1.5)
    yield norms("a large scaling", scaling=10)
    yield norms("a large scaling below zero", (4, 3, 2, 2), scaling=-10.0)
    yield norms("a wider update", **{"update dtype": "float64"})
    yield norms("a narrower update", dtype="float64", **{"update dtype": "float32"})
    yield norms("single over half", dtype="bfloat16", **{"update dtype": "float32"})
    given = norms("large entries", far=True)
    yield given | {"weight": 30 * given["weight"]}
    given = norms("small entries")
    yield given | {
        "weight": 0.005 * given["weight"],
        "update": 0.005 * given["update"],
        "dtype": "float64",
        "update dtype": "float64",
    }
    for name, shape in (
        ("kernels", (4, 3, 3, 3)),
        ("square kernels", (3, 3, 3, 3)),
        ("oblong kernels", (4, 2, 1, 5)),
        ("kernels of one", (5, 4, 1, 1)),
        ("one channel", (1, 1, 3, 2)),
    ):
        yield norms(name, shape, dtype="float32")
        yield norms(f"{name}, double precision", shape, dtype="float64", scaling=-0.4)
    for scaling in (0, 1):
        yield norms(f"kernels, a scaling of {scaling}", (4, 3, 3, 3), scaling=scaling)
    yield norms("kernels, half precision", (4, 3, 3, 3), dtype="bfloat16")
    for layout in ("spread", "columns", "channels last"):
        yield norms(f"kernels, {layout} in memory", (4, 3, 3, 3), layout=layout)
    yield norms("kernels, a wider update", (4, 3, 3, 3), **{"update dtype": "float64"})

    def layer(name, inputs=7, outputs=5, rank=2, x=(4,), adapters=1, **more):
        kind = more.get("kind", "linear")
        kernel = more.get("kernel", (3, 3))
        if kind == "conv":
            shapes = [(outputs, inputs, *kernel), (rank, inputs, *kernel), (outputs, rank, 1, 1)]
            given = normal(*x, inputs, *more.pop("size", (6, 5)))
            magnitudes = (1, outputs, 1, 1)
        elif kind == "embedding":
            shapes = [(inputs, outputs), (rank, inputs), (outputs, rank)]
            given = torch.randint(inputs, x, generator=generator)
            magnitudes = (outputs,)
        else:
            shapes = [(inputs, outputs) if more.get("turned") else (outputs, inputs), (rank, inputs), (outputs, rank)]
            given = normal(*x, inputs)
            magnitudes = (outputs,)
        return {
            "name": f"{kind}, {name}",
            "kind": kind,
            "weight": normal(*shapes[0]),
            "bias": normal(outputs),
            "x": given,
            "adapters": [
                {
                    "A": normal(*shapes[1]),
                    "B": normal(*shapes[2]),
                    "m": 1.5 + normal(*magnitudes),
                    "alpha": (1.3, 3.0)[number] * rank,
                }
                for number in range(adapters)
            ],
            "rank": rank,
            "turned": False,
            "dtype": "float32",
            "base dtype": None,
            "dropout": 0.0,
            "training": False,
            "factor": 1.0,
            "far": False,
            "layout": "contiguous",
            "biased": True,
            "frozen": None,
            **more,
        }

    def tight(given):
        """Norms near the smallest, with hardly an update."""
        dims = (1, 2, 3) if given["kind"] == "conv" else 0 if given["turned"] or given["kind"] == "embedding" else 1
        lengths = given["weight"].square().sum(dim=dims, keepdim=True).sqrt()
        (adapter,) = given["adapters"]
        adapter |= {"B": 1e-6 * adapter["B"], "m": 4 * adapter["m"]}
        return given | {"weight": 1.7e-3 * given["weight"] / lengths, "far": "tight"}

    yield layer("an ordinary one")
    yield layer("a square", 6, 6)
    yield layer("rank one", rank=1)
    yield layer("a rank beyond the widths", 3, 2, rank=6)
    yield layer("one output", outputs=1)
    yield layer("one input", inputs=1)
    yield layer("all of one", 1, 1, 1)
    yield layer("a large one", 256, 200, rank=32, factor=0.3)
    yield layer("one row", x=(1,))
    yield layer("no rows", x=(0,))
    yield layer("three dimensions", x=(2, 3))
    yield layer("four dimensions", x=(2, 1, 3))
    yield layer("no rows of a batch", x=(2, 0))
    yield layer("without a bias", biased=False)
    yield layer("inputs first", turned=True)
    yield layer("a square of inputs first", 6, 6, turned=True)
    yield layer("inputs first, three dimensions", turned=True, x=(2, 3))
    yield layer("two adapters", adapters=2)
    yield layer("two adapters, inputs first", adapters=2, turned=True)
    yield layer("double precision", dtype="float64", x=(2, 3))
    yield layer("double precision, inputs first", dtype="float64", turned=True)
    for turned in (False, True):
        name = f"half precision{', inputs first' if turned else ''}"
        given = layer(name, dtype="bfloat16", factor=0.5, turned=turned)
        # Smaller inputs keep the gradients of the factors below a few units.
        yield given | {"x": 0.7 * given["x"]}
    yield layer("a narrower base", **{"base dtype": "bfloat16"}, factor=0.5)
    yield layer("a base in single precision", dtype="float64", **{"base dtype": "float32"})
    yield layer("dropout in training", dropout=0.4, training=True)
    yield layer("dropout in training, inputs first", dropout=0.4, training=True, turned=True)
    yield layer("dropout out of training", dropout=0.4)
    yield layer("training without dropout", training=True)
    given = layer("large inputs", far=True)
    yield given | {"x": 30 * given["x"]}
    given = layer("factors of zero")
    given["adapters"][0]["B"] *= 0
    yield given
    given = layer("magnitudes of zero")
    given["adapters"][0]["m"] *= 0
    yield given
    given = layer("magnitudes below zero")
    given["adapters"][0]["m"] = -given["adapters"][0]["m"].abs()
    yield given
    for kind in ("linear", "embedding", "conv"):
        more = {"x": (2,), "stride": (1, 1), "padding": (1, 1), "dilation": (1, 1)} if kind == "conv" else {}
        for scaling in (0.0, 1.0):
            given = layer(f"a scaling of {scaling}", kind=kind, **more)
            given["adapters"][0]["alpha"] = scaling * given["rank"]
            yield given
    given = layer("a scaling below zero")
    given["adapters"][0]["alpha"] = -2.5
    yield given
    for turned in (False, True):
        yield tight(layer(f"small norms{', inputs first' if turned else ''}", turned=turned))
    yield tight(layer("small norms in double precision", dtype="float64"))
    for frozen in ("magnitude", "_A", "_B", "lora", "x"):
        yield layer(f"without a gradient of {frozen}", frozen=frozen, x=(2, 3))
    for layout in ("transposed", "spread", "columns"):
        yield layer(f"a layout that is {layout}", layout=layout, x=(2, 3))
        yield layer(f"a layout that is {layout}, inputs first", layout=layout, turned=True)

    def table(name, *args, **more):
        return layer(name, *args, kind="embedding", **more)

    yield table("an ordinary one")
    yield table("a square", 6, 6)
    yield table("rank one", rank=1)
    yield table("a rank beyond the widths", 3, 2, rank=6)
    given = table("one entry", inputs=1)
    # Its norm is one number, which an update must not cancel.
    yield given | {"weight": given["weight"] + 6 * given["weight"].sign()}
    yield table("one dimension", outputs=1)
    yield table("two dimensions of indices", x=(2, 3))
    yield table("three dimensions of indices", x=(2, 1, 3))
    yield table("no indices", x=(0,))
    yield table("two adapters", adapters=2)
    yield table("double precision", dtype="float64", x=(2, 3))
    yield table("double precision, two adapters", dtype="float64", adapters=2)
    yield table("half precision", dtype="bfloat16", factor=0.5)
    yield table("a padded entry", padding=2, x=(9,))
    yield table("in training", training=True)
    yield table("many entries", 200, 8, 4, (5,))
    given = table("factors of zero")
    given["adapters"][0]["A"] *= 0
    yield given
    given = table("a scaling below zero")
    given["adapters"][0]["alpha"] = -2.5
    yield given
    given = table("large entries", far=True)
    yield given | {"weight": 30 * given["weight"]}
    for layout in ("transposed", "spread", "columns"):
        yield table(f"{layout} in memory", layout=layout)
    yield tight(table("small norms"))
    yield tight(table("small norms in double precision", dtype="float64"))
    for frozen in ("magnitude", "_A", "_B"):
        yield table(f"without a gradient of {frozen}", frozen=frozen)

    def kernels(name, inputs=3, outputs=4, rank=2, **more):
        return layer(
            name,
            inputs,
            outputs,
            rank,
            **{"x": (2,), "kind": "conv", "stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), **more},
        )

    yield kernels("an ordinary one")
    yield kernels("as many channels", 3, 3)
    yield kernels("one image", x=(1,))
    yield kernels("rank one", rank=1)
    yield kernels("a rank beyond the channels", 1, 2, rank=5)
    yield kernels("one output", outputs=1)
    yield kernels("kernels of one", kernel=(1, 1), padding=(0, 0))
    yield kernels(
        "kernels of one, dilated and with a stride", kernel=(1, 1), padding=(0, 1), dilation=(2, 3), stride=(2, 1)
    )
    yield kernels("oblong kernels", kernel=(2, 5), padding=(0, 2))
    yield kernels("a stride", stride=(2, 3))
    yield kernels("no padding", padding=(0, 0))
    yield kernels("uneven padding", padding=(2, 0), stride=(1, 2))
    yield kernels("without a bias", biased=False)
    yield kernels("two adapters", adapters=2)
    yield kernels("double precision", dtype="float64", stride=(2, 1))
    yield kernels("half precision", dtype="bfloat16", factor=0.6, x=(1,), size=(3, 3))
    yield kernels("dropout in training", dropout=0.4, training=True)
    given = kernels("magnitudes below zero")
    given["adapters"][0]["m"] = -given["adapters"][0]["m"].abs()
    yield given
    given = kernels("factors of zero")
    given["adapters"][0]["B"] *= 0
    yield given
    for layout in ("transposed", "spread", "columns", "channels last"):
        yield kernels(f"{layout} in memory", layout=layout)
    yield tight(kernels("small norms"))
    yield tight(kernels("small norms in double precision", dtype="float64"))
    for frozen in ("magnitude", "_A", "_B", "lora", "x"):
        yield kernels(f"without a gradient of {frozen}", frozen=frozen)

    def begin(name, kind="linear", shapes=((5, 7), (2, 7), (5, 2)), dtype="float32", **more):
        return {
            "name": f"magnitudes at the start, {name}",
            "kind": "start",
            "layer": kind,
            "weight": 0.5 * normal(*shapes[0]),
            "A": normal(*shapes[1]),
            "B": normal(*shapes[2]),
            "scaling": 0.8,
            "dtype": dtype,
            "turned": False,
            "layout": "contiguous",
            "zero": False,
            "on_cpu": False,
            "base dtype": dtype,
            "unit": 1.0,
            **more,
        }

    for dtype in ("float32", "float64", "bfloat16", "float16"):
        yield begin(dtype, dtype=dtype)
        yield begin(f"{dtype}, inputs first", shapes=((7, 5), (2, 7), (5, 2)), turned=True, dtype=dtype)
        yield begin(f"{dtype}, embedding", "embedding", ((6, 4), (2, 6), (4, 2)), dtype=dtype)
        yield begin(f"{dtype}, kernels", "conv", ((4, 3, 3, 2), (2, 3, 3, 2), (4, 2, 1, 1)), dtype=dtype)
    yield begin("kernels of one", "conv", ((4, 3, 1, 1), (2, 3, 1, 1), (4, 2, 1, 1)))
    yield begin("factors of zero", zero=True)
    yield begin("on the CPU", on_cpu=True)
    yield begin("spread in memory", layout="spread")
    yield begin("a scaling of zero", scaling=0)
    yield begin("rank one", shapes=((4, 4), (1, 4), (4, 1)))
    yield begin("a scaling below zero", scaling=-2)
    yield begin("factors in half precision over a base in single", dtype="float16", **{"base dtype": "float32"})
    yield begin("factors in double precision over a base in single", dtype="float64", **{"base dtype": "float32"})
    for base, factors in (
        ("bfloat16", "float16"),
        ("float16", "bfloat16"),
        ("bfloat16", "float32"),
        ("float32", "bfloat16"),
        ("float64", "float16"),
    ):
        yield begin(f"factors in {factors} over a base in {base}", dtype=factors, **{"base dtype": base})
        yield begin(
            f"kernels in {factors} over a base in {base}",
            "conv",
            ((4, 3, 3, 2), (2, 3, 3, 2), (4, 2, 1, 1)),
            factors,
            **{"base dtype": base},
        )
    for layout in ("columns", "channels last"):
        yield begin(f"kernels, {layout} in memory", "conv", ((4, 3, 3, 2), (2, 3, 3, 2), (4, 2, 1, 1)), layout=layout)
    for kind, shapes in (
        ("linear", ((3, 40), (2, 40), (3, 2))),
        ("embedding", ((40, 3), (2, 40), (3, 2))),
        ("conv", ((3, 5, 3, 3), (2, 5, 3, 3), (3, 2, 1, 1))),
    ):
        # The squares of a row add up to more than float16 holds.
        given = begin(f"large entries, {kind}", kind, shapes, "float16")
        size = 45 + 5 * torch.rand(shapes[0], generator=generator, dtype=torch.float64)
        yield given | {"weight": size * normal(*shapes[0]).sign()}

    def grid(*shape):
        """Multiples of a sixteenth: products of two are exact in single precision, but not in half."""
        return torch.randint(32, 112, shape, generator=generator).double() / 16 * normal(*shape).sign()

    for kind, shapes in (
        ("linear", ((5, 7), (2, 7), (5, 2))),
        ("conv", ((4, 3, 2, 2), (2, 3, 2, 2), (4, 2, 1, 1))),
    ):
        # What remains beside the product is less than its rounding.
        more = {"base dtype": "float32", "scaling": 0.5, "unit": 0.003}
        given = begin(f"a rounded product, {kind}", kind, shapes, "float16", **more)
        a, b = grid(*shapes[1]), grid(*shapes[2])
        product = (b.flatten(1) @ a.flatten(1)).half().double().reshape(shapes[0])
        yield given | {"A": a, "B": b, "weight": 0.001 * normal(*shapes[0]).sign() - 0.5 * product}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if case["kind"] == "norms":
        return _norms(case)
    return _start(case) if case["kind"] == "start" else _layer(case)


def _laid_out(item, layout):
    if layout == "transposed":
        return item.mT.contiguous().mT if item.dim() > 1 else item.clone()
    if layout == "spread":
        return (
            item.new_zeros(*item.shape[:-1], 2 * item.shape[-1])[..., ::2].copy_(item) if item.dim() else item.clone()
        )
    if layout == "columns" and item.dim():
        return item.new_zeros(*item.shape[:-1], item.shape[-1] + 3)[..., 2:-1].copy_(item)
    if layout == "channels last" and item.dim() == 4:
        return item.clone(memory_format=torch.channels_last)
    return item.clone(memory_format=torch.contiguous_format)


def _sorted(results, dtype, far=False):
    name = {2: "half", 4: "far" if far is True else far or "single", 8: "double"}[dtype.itemsize]
    return {name: {key: item.detach().double() for key, item in results.items()}}


def _norms(case):
    from peft.tuners.lora import DoraConv2dLayer, DoraLinearLayer

    dtype, update_dtype = DTYPES[case["dtype"]], DTYPES[case["update dtype"]]
    kernels = case["weight"].dim() == 4
    module = DoraConv2dLayer(False) if kernels else DoraLinearLayer(fan_in_fan_out=case["turned"])
    weight = case["weight"].to(dtype)
    weight = _laid_out(weight.T if case["turned"] else weight, case["layout"])
    weight = torch.nn.Parameter(weight, requires_grad=False) if case["parameter"] else weight
    update = _laid_out(case["update"].to(update_dtype), case["layout"]).requires_grad_()
    kept = weight.detach().clone(), update.detach().clone()
    found = module.get_weight_norm(weight, update, case["scaling"])
    facts = [str(found.dtype), list(found.shape), found.requires_grad]
    results = {"norms": found.clone()}
    (found.flatten() * case["weights"].to(found.dtype)).sum().backward()
    results["gradient"] = update.grad
    facts += [
        str(update.grad.dtype),
        torch.equal(kept[0], weight.detach()),
        torch.equal(kept[1], update.detach()),
        len(list(module.parameters())),
        sorted(vars(module)),
    ]
    with torch.no_grad():
        results["again"] = module.get_weight_norm(weight, lora_weight=0.5 * update, scaling=2 * case["scaling"] + 1)
    low = dtype if dtype.itemsize < update_dtype.itemsize else update_dtype
    return _sorted(results, low, case["far"]) | {"facts": facts}


def _base(case, dtype):
    """A frozen layer, and the adapted one's type."""
    from peft.tuners.lora import Conv2d, Embedding, Linear
    from transformers.pytorch_utils import Conv1D

    weight = case["factor"] * case["weight"]
    kind = case["kind"]
    if kind == "conv":
        outputs, inputs, *kernel = weight.shape
        base = torch.nn.Conv2d(
            inputs, outputs, tuple(kernel), case["stride"], case["padding"], case["dilation"], bias=case["biased"]
        )
        made = Conv2d
    elif kind == "embedding":
        base = torch.nn.Embedding(*weight.shape, padding_idx=case.get("padding"))
        made = Embedding
    elif case["turned"]:
        base, made = Conv1D(weight.shape[1], weight.shape[0]), Linear
    else:
        base, made = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=case["biased"]), Linear
    base.to(dtype).requires_grad_(False)
    base.weight.data = _laid_out(weight.to(dtype), case["layout"])
    if kind != "embedding" and base.bias is not None:
        base.bias.copy_(case["bias"])
    return base, made


def _layer(case):
    kind = case["kind"]
    dtype, base_dtype = DTYPES[case["dtype"]], DTYPES[case["base dtype"] or case["dtype"]]
    base, made = _base(case, base_dtype)
    names = [f"adapter {number}" for number in range(len(case["adapters"]))]
    layer = None
    for name, adapter in zip(names, case["adapters"], strict=True):
        settings = {
            "lora_alpha": adapter["alpha"],
            "lora_dropout": case["dropout"],
            "init_lora_weights": True,
            "use_rslora": False,
            "use_dora": True,
        }
        if layer is None:
            more = {"fan_in_fan_out": case["turned"]} if kind == "linear" else {}
            layer = made(base, name, r=case["rank"], **settings, **more)
        else:
            layer.update_layer(name, case["rank"], **settings)
    base.requires_grad_(False)
    results, facts = {}, {}
    for name, adapter in zip(names, case["adapters"], strict=True):
        held = layer.lora_magnitude_vector[name]
        results[f"{name}, start"] = held.weight.detach().clone()
        for which in ("A", "B"):
            value = _laid_out((case["factor"] * adapter[which]).to(dtype), case["layout"])
            if kind == "embedding":
                getattr(layer, f"lora_embedding_{which}")[name] = torch.nn.Parameter(value)
            else:
                getattr(layer, f"lora_{which}")[name].weight = torch.nn.Parameter(value)
        held.weight = torch.nn.Parameter(_laid_out(adapter["m"].to(dtype), case["layout"]))
    layer.set_adapter(names)
    layer.train(case["training"])
    trained = {name: item for name, item in layer.named_parameters() if "base_layer" not in name}
    for name, item in trained.items():
        item.requires_grad_(not case["frozen"] or case["frozen"] not in name)
    if kind == "embedding":
        x = _laid_out(case["x"], case["layout"])
    else:
        x = _laid_out(case["x"].to(base_dtype), case["layout"]).requires_grad_(case["frozen"] != "x")
    before = {name: item.detach().clone() for name, item in layer.state_dict().items()}
    kept = x.detach().clone()
    modules = [sorted(vars(item)) for item in layer.modules()]
    torch.manual_seed(11)
    output = layer(x)
    facts["output"] = [str(output.dtype), list(output.shape), output.requires_grad]
    facts["next number"] = torch.rand(1).item()
    results["output"] = output.clone()
    wave = torch.linspace(-1, 2, output.numel(), dtype=torch.float64).cos().to(output.dtype).reshape(output.shape)
    (output * wave).sum().backward()
    if x.requires_grad:
        results["gradient of x"] = x.grad
    for name, item in trained.items():
        facts[f"gradient of {name}"] = None if item.grad is None else str(item.grad.dtype)
        if item.grad is not None and (case["far"] != "tight" or "magnitude" in name):
            results[f"gradient of {name}"] = item.grad.clone()
    facts["unchanged"] = [
        torch.equal(x.detach(), kept),
        all(torch.equal(item, before[name]) for name, item in layer.state_dict().items()),
        [sorted(vars(item)) for item in layer.modules()] == modules,
        [item.training for item in layer.modules()],
        base.weight.grad is None,
    ]
    facts["of a module"] = _alone(case, layer, base, names[0], x, results, dtype)
    with torch.no_grad():
        # Later on: other factors, another scaling, other magnitudes, another weight, and other inputs.
        for change in ("factor", "scaling", "magnitude", "weight", "mode"):
            if change == "factor":
                factor = layer.lora_embedding_A[names[0]] if kind == "embedding" else layer.lora_B[names[0]].weight
                factor.data.mul_(-0.6)
            elif change == "scaling":
                layer.scale_layer(1.7)
            elif change == "magnitude":
                layer.lora_magnitude_vector[names[-1]].weight.data.add_(0.5)
            elif change == "weight":
                base.weight.data.mul_(0.7)
            else:
                layer.train(not case["training"])
            torch.manual_seed(12)
            results[f"another {change}"] = layer(x.detach())
        half = x.detach()[: max(1, len(x) // 2)]
        results["fewer"] = layer(half)
    low = base_dtype if base_dtype.itemsize < dtype.itemsize else dtype
    if low != dtype:
        # The module itself is given inputs in the dtype of the factors, and loses nothing.
        facts |= _sorted({"alone": results.pop("alone")}, dtype)
    return _sorted(results, low, case["far"]) | facts


def _alone(case, layer, base, name, x, results, dtype):
    """What the module returns by itself, for another input and a scaling of its own."""
    held = layer.lora_magnitude_vector[name]
    if case["kind"] != "embedding":
        given = (0.5 * x.detach() + 0.25).to(dtype)
        found = held(given, lora_A=layer.lora_A[name], lora_B=layer.lora_B[name], scaling=-0.9, base_layer=base)
        results["alone"] = found.detach().clone()
        return [str(found.dtype), list(found.shape), found.requires_grad]
    told = []

    def look_up(indices, rows):
        told.append([list(indices.shape), list(rows.shape), str(rows.dtype), rows.requires_grad])
        return torch.nn.functional.embedding(indices, rows)

    a, b = layer.lora_embedding_A[name].T, 0.8 * layer.lora_embedding_B[name].T
    pair = held(x, lora_A=a, lora_B=b, scaling=-0.9, base_layer=base, embed_fn=look_up)
    scale, added = pair
    results["scale"], results["added"] = scale.detach().clone(), added.detach().clone()
    for item in layer.parameters():
        item.grad = None
    if held.weight.requires_grad:
        (scale.sum() * 2).backward()
        results["gradient of the scale"] = held.weight.grad.clone()
    facts = [layer.lora_embedding_A[name].grad is None, layer.lora_embedding_B[name].grad is None, scale.requires_grad]
    return [*facts, type(pair) is tuple, str(scale.dtype), list(scale.shape), str(added.dtype), list(added.shape), told]


def _start(case):
    from peft.tuners import lora

    dtype, base_dtype = DTYPES[case["dtype"]], DTYPES[case["base dtype"]]
    kinds = {"linear": lora.DoraLinearLayer, "embedding": lora.DoraEmbeddingLayer, "conv": lora.DoraConv2dLayer}
    module = kinds[case["layer"]](fan_in_fan_out=case["layer"] == "embedding" or case["turned"])
    base = torch.nn.Module()
    base.weight = torch.nn.Parameter(_laid_out(case["weight"].to(base_dtype), case["layout"]), requires_grad=False)
    base.bias = torch.nn.Parameter(torch.ones(3, dtype=base_dtype), requires_grad=False)
    a = torch.nn.Parameter(_laid_out(case["A"].to(dtype), case["layout"]))
    b = torch.nn.Parameter(_laid_out(case["B"].to(dtype) * (0 if case["zero"] else 1), case["layout"]))
    kept = [item.detach().clone() for item in (base.weight, a, b)]
    more = {"place_on_cpu": True} if case["on_cpu"] else {}
    results, facts = {}, []
    held = None
    for scaling in (case["scaling"], case["scaling"] + 0.5):
        base.train(scaling == case["scaling"])
        returned = module.update_layer(base_layer=base, lora_A=a, lora_B=b, scaling=scaling, **more)
        item = module.weight
        facts.append(
            [
                returned is None,
                type(item) is torch.nn.Parameter,
                item.requires_grad,
                item.is_leaf,
                item.grad is None,
                item is not held,
            ]
        )
        facts.append(
            [
                str(item.dtype),
                list(item.shape),
                [name for name, _ in module.named_parameters()],
                sorted(module.state_dict()),
                sorted(vars(module)),
                base.training,
            ]
        )
        results[f"scaling {scaling}"] = item.detach() / case["unit"]
        held = item
    facts.append([torch.equal(old, new.detach()) for old, new in zip(kept, (base.weight, a, b), strict=True)])
    facts.append(
        [
            a.requires_grad,
            b.requires_grad,
            a.grad is None,
            b.grad is None,
            str(a.dtype),
            str(b.dtype),
            str(base.weight.dtype),
        ]
    )
    with torch.no_grad():
        base.weight.mul_(2)
        b.mul_(0.5)
        module.update_layer(base_layer=base, lora_A=0.8 * a.detach(), lora_B=b.detach(), scaling=1, **more)
        facts.append([module.weight.requires_grad])
    results["again"] = module.weight.detach() / case["unit"]
    low = dtype if dtype.itemsize < base_dtype.itemsize else base_dtype
    return _sorted(results, low) | {"facts": facts}
