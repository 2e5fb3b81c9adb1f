"""DoRA's norms and magnitudes, outputs of linear layers, embeddings and convolutions with gradients; the experiment."""

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def pick(*values):
        return values[torch.randint(len(values), (), generator=generator).item()]

    def scaling():
        return pick(-1.0, 1.0) * (0.4 + torch.rand((), generator=generator).item())

    def shapes(kind, turned=False, kernel=None, square=False):
        """Shapes of the weight as it is stored, of both factors and of the update."""
        inputs, outputs, rank = pick(4, 6, 7), pick(3, 5, 8), pick(1, 2, 3)
        outputs = inputs if square else outputs
        if kind == "conv":
            kernel = kernel or pick((3, 3), (2, 3), (1, 1), (3, 1))
            return (outputs, inputs, *kernel), (rank, inputs, *kernel), (outputs, rank, 1, 1)
        stored = (inputs, outputs) if turned or kind == "embedding" else (outputs, inputs)
        return stored, (rank, inputs), (outputs, rank)

    def norms(name, kind="linear", turned=False, shape=None, dtype=torch.float32, **more):
        stored = shape or shapes(kind, turned)[0]
        update = stored[::-1] if turned else stored
        return {
            "name": f"norms, {name}",
            "kind": "norms",
            "layer": kind,
            "turned": turned,
            "weight": normal(*stored).to(dtype),
            "update": normal(*update).to(dtype),
            "weights": normal(update[0]).to(dtype),
            "scaling": scaling(),
            **more,
        }

    for dtype in (torch.float32, torch.float64):
        yield norms(f"{dtype}", dtype=dtype)
        yield norms(f"{dtype}, inputs first", turned=True, dtype=dtype)
        yield norms(f"{dtype}, kernels", "conv", dtype=dtype)
    yield norms("square", shape=(5, 5))
    yield norms("square, inputs first", turned=True, shape=(5, 5))
    yield norms("square kernels", "conv", shape=(3, 3, 3, 3))
    yield norms("one output", shape=(1, 6))
    yield norms("one input", shape=(6, 1))
    yield norms("a scaling of zero", scaling=0.0)
    yield norms("a large scaling", scaling=10.0)

    def start(name, kind="linear", turned=False, dtype=torch.float32, base=None, **more):
        stored, first, second = shapes(kind, turned)
        return {
            "name": f"magnitudes at the start, {name}",
            "kind": "start",
            "layer": kind,
            "turned": turned or kind == "embedding",
            "weight": normal(*stored).to(base or dtype),
            "A": normal(*first).to(dtype),
            "B": more.pop("factor", 1.0) * normal(*second).to(dtype),
            "scaling": scaling(),
            **more,
        }

    for kind in ("linear", "embedding", "conv"):
        for dtype in (torch.float32, torch.float64):
            yield start(f"{kind}, {dtype}", kind, dtype=dtype)
    yield start("linear, inputs first", turned=True)
    yield start("a scaling of zero", scaling=0.0)
    yield start("a scaling of one", scaling=1.0)
    yield start("factors of zero", pick("linear", "embedding", "conv"), factor=0.0)

    def layer(name, kind="linear", turned=False, dtype=torch.float32, x=None, size=(5, 6), adapters=1, **more):
        stored, first, second = shapes(kind, turned, more.get("kernel"), more.pop("square", False))
        rows = x or pick((3,), (2, 3))
        if kind == "conv":
            inputs = normal(2, stored[1], *size).to(dtype)
            magnitudes = (1, stored[0], 1, 1)
        elif kind == "embedding":
            inputs = torch.randint(stored[0], rows, generator=generator)
            magnitudes = (stored[1],)
        else:
            inputs = normal(*rows, first[1]).to(dtype)
            magnitudes = (second[0],)
        return {
            "name": f"{kind}, {name}",
            "kind": "layer",
            "layer": kind,
            "turned": turned,
            "dtype": dtype,
            "base": dtype,
            "weight": normal(*stored),
            "bias": normal(second[0]),
            "biased": pick(True, False),
            "x": inputs,
            "adapters": [
                {
                    "A": normal(*first),
                    "B": normal(*second),
                    "m": 1.5 + normal(*magnitudes),
                    "alpha": first[0] * (0.5 + torch.rand((), generator=generator).item()),
                }
                for _ in range(adapters)
            ],
            "rank": first[0],
            "dropout": 0.0,
            "training": pick(True, False),
            "frozen": None,
            "stride": pick((1, 1), (2, 1), (1, 2)),
            "padding": pick((0, 0), (1, 0), (1, 2)),
            "dilation": (1, 1),
            **more,
        }

    for dtype in (torch.float32, torch.float64):
        yield layer(f"{dtype}", dtype=dtype, biased=True)
        yield layer(f"{dtype}, inputs first", turned=True, dtype=dtype)
        yield layer(f"{dtype}", "embedding", dtype=dtype)
        yield layer(f"{dtype}", "conv", dtype=dtype, kernel=(3, 3), biased=True)
    yield layer("without a bias", biased=False)
    yield layer("one vector", x=(1,))
    yield layer("four dimensions", x=(2, 1, 3), turned=pick(True, False))
    yield layer("a square, inputs first", turned=True, square=True)
    yield layer("a square", "embedding", square=True)
    yield layer("one row of indices", "embedding", x=(4,))
    yield layer("strides and padding", "conv", kernel=(2, 3), stride=(2, 1), padding=(1, 2))
    yield layer("the other stride", "conv", kernel=(3, 2), stride=(1, 2), padding=(2, 0))
    yield layer("kernels of one, dilated", "conv", kernel=(1, 1), dilation=(2, 3), padding=(0, 1))
    for kind in ("linear", "embedding", "conv"):
        yield layer("two adapters", kind, adapters=2)
        yield layer("dropout in training", kind, dropout=0.4, training=True)
        yield layer("magnitudes frozen", kind, frozen="magnitude")
        frozen = pick("_A", "_B", "x")
        yield layer("parameters partly frozen", kind, frozen=frozen, turned=kind == "linear")
        negative = layer("negative magnitudes", kind)
        negative["adapters"][0]["m"] = -negative["adapters"][0]["m"].abs()
        yield negative
        unused = layer("factors of zero", kind)
        unused["adapters"][0]["B"] = 0 * unused["adapters"][0]["B"]
        yield unused
        for name, scale in (("zero", 0), ("one", 1)):
            given = layer(f"a scaling of {name}", kind)
            given["adapters"][0]["alpha"] = scale * given["rank"]
            yield given
    for number in range(4):
        kind = pick("linear", "embedding", "conv")
        turned = kind == "linear" and pick(True, False)
        chosen = {"adapters": pick(1, 2), "dropout": pick(0.0, 0.3), "dtype": pick(torch.float32, torch.float64)}
        yield layer(f"combination {number}", kind, turned, **chosen)
    yield {"name": "experiment", "kind": "experiment", "seed": seed % 1000}

    for dtype in (torch.bfloat16, torch.float16):
        for kind in ("linear", "embedding", "conv"):
            yield start(f"{kind}, {dtype}", kind, dtype=dtype) | {"edge": True}
    yield start("single precision over half", dtype=torch.float32, base=torch.bfloat16) | {"edge": True}
    # Squares of these entries are beyond float16.
    large = start("large entries", dtype=torch.float16)
    yield large | {"weight": 300 * large["weight"], "edge": True}
    for kind, turned in (("linear", False), ("linear", True), ("embedding", False), ("conv", False)):
        name = "bfloat16, inputs first" if turned else "bfloat16"
        yield layer(name, kind, turned, dtype=torch.bfloat16) | {"edge": True}
    yield layer("a base in half precision", base=torch.bfloat16) | {"edge": True}
    for kind in ("linear", "conv"):
        yield norms(f"entries apart, {kind}", kind) | {"spread": True, "edge": True}
    yield start("entries apart") | {"spread": True, "edge": True}
    for kind in ("linear", "embedding", "conv"):
        yield layer("entries apart", kind) | {"spread": True, "edge": True}
    yield layer("no rows", x=(0, 3)) | {"edge": True}
    yield layer("no indices", "embedding", x=(0,)) | {"edge": True}


def observe(case):
    if case["kind"] == "experiment":
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "spread" in case:
        # The same values, and others between them in memory.
        apart = {name: torch.stack([item, item], -1) for name, item in case.items() if isinstance(item, torch.Tensor)}
        case = case | {name: item[..., 0] for name, item in apart.items()}
    return {"norms": _norms, "start": _start, "layer": _layer}[case["kind"]](case)


def _module(case):
    from peft.tuners import lora

    kinds = {"linear": lora.DoraLinearLayer, "embedding": lora.DoraEmbeddingLayer, "conv": lora.DoraConv2dLayer}
    return kinds[case["layer"]](fan_in_fan_out=case["turned"])


def _norms(case):
    module = _module(case)
    update = case["update"].requires_grad_()
    kept = case["weight"].clone(), update.detach().clone()
    found = module.get_weight_norm(case["weight"], update, case["scaling"])
    (found.flatten() * case["weights"]).sum().backward()
    name = "double" if found.dtype == torch.float64 else "single"
    unchanged = [torch.equal(case["weight"], kept[0]), torch.equal(update, kept[1])]
    return {"norms": [str(found.dtype), list(found.shape), unchanged], name: [found, update.grad]}


def _start(case):
    module = _module(case)
    base = torch.nn.Module()
    base.weight = torch.nn.Parameter(case["weight"], requires_grad=False)
    values, facts = [], []
    for changed in (False, True):
        given = {f"lora_{name}": 0.7 * case[name] if changed else case[name] for name in ("A", "B")}
        factors = {name: torch.nn.Parameter(item) for name, item in given.items()}
        parameters = base.weight, *factors.values()
        kept = [item.detach().clone() for item in parameters]
        base.train(changed)
        module.update_layer(base_layer=base, **factors, scaling=case["scaling"] + 0.5 * changed)
        values.append(module.weight.detach())
        facts.append([torch.equal(*pair) for pair in zip(kept, parameters, strict=True)])
        facts.append([base.training, [item.requires_grad for item in parameters]])
    facts += [[name, str(item.dtype), list(item.shape), item.requires_grad] for name, item in module.named_parameters()]
    if case["A"].dtype.itemsize == 2 or case["weight"].dtype.itemsize == 2:
        return {"facts": facts, "finite": [item.isfinite().all().item() for item in values]}
    return {"facts": facts, "double" if case["A"].dtype == torch.float64 else "single": values}


def _layer(case):
    from peft.tuners.lora import Conv2d, Embedding, Linear
    from transformers.pytorch_utils import Conv1D

    weight, kind = case["weight"], case["layer"]
    more = {}
    if kind == "conv":
        outputs, inputs, *kernel = weight.shape
        shape = (inputs, outputs, tuple(kernel), case["stride"], case["padding"], case["dilation"])
        base, made = torch.nn.Conv2d(*shape, bias=case["biased"]), Conv2d
    elif kind == "embedding":
        base, made = torch.nn.Embedding(*weight.shape), Embedding
    else:
        more = {"fan_in_fan_out": case["turned"]}
        if case["turned"]:
            base, made = Conv1D(weight.shape[1], weight.shape[0]), Linear
        else:
            base, made = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=case["biased"]), Linear
    base.to(case["base"]).requires_grad_(False)
    base.weight.copy_(weight)
    if getattr(base, "bias", None) is not None:
        base.bias.copy_(case["bias"])
    names = [f"adapter {number}" for number in range(len(case["adapters"]))]
    adapted = None
    for name, adapter in zip(names, case["adapters"], strict=True):
        settings = {"lora_alpha": adapter["alpha"], "lora_dropout": case["dropout"], "use_dora": True}
        settings |= {"init_lora_weights": True, "use_rslora": False}
        if adapted is None:
            adapted = made(base, name, r=case["rank"], **settings, **more)
        else:
            adapted.update_layer(name, case["rank"], **settings)
    base.requires_grad_(False)
    values = {"start": [adapted.lora_magnitude_vector[name].weight.detach().clone() for name in names]}
    for name, adapter in zip(names, case["adapters"], strict=True):
        for which in ("A", "B"):
            factor = torch.nn.Parameter(adapter[which].to(case["dtype"]))
            if kind == "embedding":
                getattr(adapted, f"lora_embedding_{which}")[name] = factor
            else:
                getattr(adapted, f"lora_{which}")[name].weight = factor
        adapted.lora_magnitude_vector[name].weight = torch.nn.Parameter(adapter["m"].to(case["dtype"]))
    adapted.set_adapter(names)
    adapted.train(case["training"])
    trained = {name: item for name, item in adapted.named_parameters() if "base_layer" not in name}
    for name, item in trained.items():
        item.requires_grad_(not case["frozen"] or case["frozen"] not in name)
    x = case["x"]
    if kind != "embedding":
        x = x.to(case["base"]).requires_grad_(case["frozen"] != "x")
    kept = x.detach().clone()
    output = adapted(x)
    facts = {
        "output": [str(output.dtype), list(output.shape)],
        "unchanged": torch.equal(x, kept),
        "training": [item.training for item in adapted.modules()],
        "trained": [item.requires_grad for item in adapted.parameters()],
    }
    if case["dtype"].itemsize == 2 or case["base"].itemsize == 2:
        return facts | {"finite": output.isfinite().all().item()}
    wave = torch.linspace(-1, 2, output.numel(), dtype=torch.float64).cos().to(output.dtype)
    (output.flatten() * wave).sum().backward()
    values["output"], values["gradient of x"] = output, x.grad
    values |= {f"gradient of {name}": item.grad for name, item in trained.items()}
    with torch.no_grad():
        # Factors, scaling, magnitudes and the base weight are read at each call.
        for which, change in (("A", 0.8), ("B", -0.6)):
            factor = getattr(adapted, f"lora_embedding_{which}" if kind == "embedding" else f"lora_{which}")[names[0]]
            getattr(factor, "weight", factor).data.mul_(change)
        for name in names:
            adapted.scaling[name] *= 1.7
        adapted.lora_magnitude_vector[names[-1]].weight.data.add_(0.5)
        values["later"] = adapted(x)
        base.weight.mul_(0.7)
        adapted.eval()
        other = (x + 1) % len(weight) if kind == "embedding" else 1 - x
        values["another weight"] = adapted(other)
    return facts | {"double" if case["dtype"] == torch.float64 else "single": values}
