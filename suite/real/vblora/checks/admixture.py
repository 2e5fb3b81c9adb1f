"""VB-LoRA layers: sub-vectors, factors and updates with their gradients, and outputs; then the experiment."""

import torch

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16, "float16": torch.float16}


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def logits(*shape, step=0.05):
        # No two logits of a sub-vector are alike, also in half precision.
        order = torch.rand(*shape, generator=generator).argsort(dim=-1).double()
        return step * (order - shape[-1] / 2)

    def mixed(name, shape=(3, 4), vectors=6, length=5, topk=2, **more):
        return {
            "name": f"sub-vectors, {name}",
            "logits": logits(*shape, vectors, step=more.pop("step", 0.3)),
            "bank": normal(vectors, length),
            "weights": normal(*shape, length),
            "topk": topk,
            "dtype": "float32",
            "layout": "contiguous",
            "wanted": ["logits", "bank"],
            "far": False,
            "before": None,
            **more,
        }

    yield mixed("two of six")
    for topk in (1, 3, 6):
        yield mixed(f"{topk} of six", topk=topk)
    yield mixed("one vector", vectors=1, topk=1)
    yield mixed("two vectors", vectors=2)
    yield mixed("one entry", length=1)
    yield mixed("all of one", shape=(1, 1), vectors=1, length=1, topk=1)
    yield mixed("one dimension ahead", shape=(4,))
    yield mixed("three dimensions ahead", shape=(2, 3, 2))
    yield mixed("as many vectors as entries", vectors=5, length=5, shape=(5, 5), topk=3)
    yield mixed("many vectors", vectors=300, length=3, topk=4, step=0.02)
    yield mixed("many of many vectors", vectors=200, length=3, topk=150, step=0.02)
    yield mixed("large logits", step=200.0, topk=3)
    yield mixed("large logits near each other", topk=3, step=0.1) | {"offset": 990.0}
    yield mixed("low logits", topk=3, step=0.1) | {"offset": -990.0}
    yield mixed("the lowest logits", topk=3, step=0.1) | {"offset": -999.7}
    given = mixed("sub-vectors of low and high logits", topk=3, step=0.1)
    yield given | {"offset": torch.linspace(-990, 990, 12, dtype=torch.float64).reshape(3, 4, 1)}
    yield mixed("nearly the same logits", step=0.002, topk=3)
    given = mixed("large bank", far=True)
    yield given | {"bank": 40 * given["bank"]}
    given = mixed("small bank")
    yield given | {"bank": 1e-3 * given["bank"]}
    given = mixed("zero bank")
    yield given | {"bank": 0 * given["bank"]}
    for kept in (1, 2, 4):
        given = mixed(f"{kept} finite logits", topk=3)
        low = given["logits"].topk(kept, dim=-1).values[..., -1:]
        given["logits"] = given["logits"].masked_fill(given["logits"] < low, float("-inf"))
        yield given
        yield given | {"name": given["name"] + ", double", "dtype": "float64"}
    for dtype in ("float64", "bfloat16", "float16"):
        yield mixed(f"{dtype}", dtype=dtype, step=0.5)
        yield mixed(f"{dtype}, all of six", dtype=dtype, topk=6, step=0.5)
    yield mixed("half precision of many", dtype="bfloat16", topk=16, vectors=20, step=0.5)
    for layout in ("transposed", "spread", "expanded"):
        yield mixed(f"a layout that is {layout}", layout=layout)
    for wanted in (["logits"], ["bank"], []):
        yield mixed(f"gradients of {', '.join(wanted) or 'nothing'}", wanted=wanted)
    yield mixed("the same tensors before", before=1)
    yield mixed("more of the same before", before=4)

    def layer(name, inputs=12, outputs=8, length=4, vectors=7, adapters=((2, 2),), x=(5,), **more):
        turned = more.pop("turned", False)
        step = more.pop("step", 0.3)
        return {
            "name": f"layer, {name}",
            "weight": normal(*((inputs, outputs) if turned else (outputs, inputs))),
            "bias": normal(outputs),
            "turned": turned,
            "x": normal(*x, inputs),
            "weights": normal(*x, outputs),
            "length": length,
            "adapters": [
                {
                    "r": rank,
                    "topk": topk,
                    "bank": normal(vectors, length),
                    "A": logits(rank, inputs // length, vectors, step=step),
                    "B": logits(outputs // length, rank, vectors, step=step),
                }
                for rank, topk in adapters
            ],
            "active": list(range(len(adapters))),
            "dtype": "float32",
            "base dtype": None,
            "training": False,
            "layout": "contiguous",
            **more,
        }

    yield layer("an ordinary one")
    yield layer("a square", inputs=8, outputs=8)
    yield layer("rank of one", adapters=((1, 2),))
    yield layer("as many of all", inputs=4, outputs=4, length=2, adapters=((2, 2),), vectors=2)
    yield layer("a rank beyond the widths", inputs=4, outputs=2, length=2, adapters=((6, 3),))
    yield layer("one piece", inputs=4, outputs=4)
    yield layer("pieces of one", inputs=5, outputs=3, length=1)
    yield layer("widths of one", inputs=1, outputs=1, length=1)
    yield layer("one of the bank", adapters=((3, 1),))
    yield layer("all of the bank", adapters=((3, 7),))
    yield layer("a large one", inputs=128, outputs=96, length=16, vectors=40, adapters=((8, 3),), x=(2, 3), step=0.1)
    yield layer("inputs before outputs", turned=True)
    yield layer("a square of inputs before outputs", turned=True, inputs=8, outputs=8)
    yield layer("two adapters", adapters=((2, 2), (3, 4)))
    yield layer("two adapters of a square", inputs=8, outputs=8, adapters=((2, 2), (3, 4)))
    yield layer("two adapters in another order", adapters=((2, 2), (3, 4)), active=[1, 0])
    yield layer("one of two adapters", adapters=((2, 2), (3, 4)), active=[1])
    for layout in ("transposed", "spread"):
        yield layer(f"a layout that is {layout}", layout=layout)
    for dtype in ("float64", "bfloat16", "float16"):
        yield layer(f"{dtype}", dtype=dtype, step=0.5) | {"small": True}
        yield layer(f"{dtype}, turned", dtype=dtype, step=0.5, turned=True) | {"small": True}
    yield layer("double precision of the adapter", **{"dtype": "float64", "base dtype": "float32"})
    yield layer("single precision over half", **{"dtype": "float32", "base dtype": "bfloat16"}) | {"small": True}
    yield layer(
        "double over half, two adapters", adapters=((2, 2), (3, 4)), **{"dtype": "float64", "base dtype": "float16"}
    ) | {"small": True}
    yield layer("in training", training=True)
    first = ("A first, positive", "A first, both")
    for where in ("A other piece", "A other row", "A same piece", *first, "B first", "B last"):
        for training in (True,) if where in first else (False, True):
            yield layer(f"infinite logits: {where}{', training' if training else ''}", training=training) | {
                "infinite": where
            }
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    return _mixed(case) if "logits" in case else _layer(case)


def _mixed(case):
    from peft.tuners.vblora import Linear

    dtype = DTYPES[case["dtype"]]
    layer = Linear(
        torch.nn.Linear(4, 4),
        torch.nn.ParameterDict({"a": torch.zeros(2, 2)}),
        "a",
        r=1,
        num_vectors=2,
        vector_length=2,
    )
    given = case["logits"] + case.get("offset", 0.0)
    inputs = {"logits": given.to(dtype), "bank": case["bank"].to(dtype)}
    inputs = {
        name: _laid_out(
            item.clone(), case["layout"] if name == "bank" or case["layout"] != "expanded" else "contiguous"
        )
        for name, item in inputs.items()
    }
    if case["before"]:
        # The same tensors with other values, and another number of vectors.
        kept = {name: item.clone() for name, item in inputs.items()}
        for item in inputs.values():
            item.copy_(item.flip(-1))
        layer._get_low_rank_matrix(inputs["logits"], inputs["bank"], case["before"])
        for name, item in inputs.items():
            item.copy_(kept[name])
    for name in case["wanted"]:
        inputs[name].requires_grad_()
    before = {name: item.detach().clone() for name, item in inputs.items()}
    output = layer._get_low_rank_matrix(inputs["logits"], inputs["bank"], case["topk"])
    results = {"output": output.detach().clone()}
    facts = {"dtype": str(output.dtype), "shape": list(output.shape), "has a gradient": output.requires_grad}
    if case["wanted"]:
        # Roundings of half precision stay far within the tolerance where gradients are smaller.
        smaller = 0.4 if dtype.itemsize == 2 else 1.0
        (output * (smaller * case["weights"]).to(dtype)).sum().backward()
    for name in case["wanted"]:
        results[name] = inputs[name].grad
        facts[f"{name}, dtype"] = str(inputs[name].grad.dtype)
    with torch.no_grad():
        output.zero_()
        results["again"] = layer._get_low_rank_matrix(inputs["logits"], inputs["bank"], case["topk"])
    facts["unchanged"] = all(torch.equal(item.detach(), before[name]) for name, item in inputs.items())
    return _sorted(results, dtype, case["far"]) | facts


def _layer(case):
    from peft.tuners.vblora import Linear
    from transformers.pytorch_utils import Conv1D

    dtype, base_dtype = DTYPES[case["dtype"]], DTYPES[case["base dtype"] or case["dtype"]]
    outputs, inputs = len(case["bias"]), case["x"].shape[-1]
    base = Conv1D(outputs, inputs) if case["turned"] else torch.nn.Linear(inputs, outputs)
    factor = 0.3 if case.get("small") else 1.0
    with torch.no_grad():
        base.weight.copy_(factor * case["weight"])
        base.bias.copy_(case["bias"])
    base.to(base_dtype)
    names = [f"adapter {number}" for number in range(len(case["adapters"]))]
    bank = torch.nn.ParameterDict(
        {name: factor * adapter["bank"].to(dtype) for name, adapter in zip(names, case["adapters"], strict=True)}
    )
    layer = None
    for name, adapter in zip(names, case["adapters"], strict=True):
        settings = {
            "r": adapter["r"],
            "topk": adapter["topk"],
            "num_vectors": len(adapter["bank"]),
            "vector_length": case["length"],
        }
        if layer is None:
            layer = Linear(base, bank, name, fan_in_fan_out=case["turned"], **settings)
        else:
            layer.update_layer(name, bank, **settings)
    for name, adapter in zip(names, case["adapters"], strict=True):
        given = [*(_infinite(adapter[which], case, which) for which in "AB"), factor * adapter["bank"]]
        given = [torch.nn.Parameter(_laid_out(item.to(dtype, copy=True), case["layout"])) for item in given]
        layer.vblora_logits_A[name], layer.vblora_logits_B[name], bank[name] = given
    layer.set_adapter([names[number] for number in case["active"]])
    layer.requires_grad_(True)
    layer.train(case["training"])
    x = case["x"].to(base_dtype, copy=True).requires_grad_()
    attributes = sorted(vars(layer))
    state = {name: item.detach().clone() for name, item in layer.state_dict().items()}
    before = x.detach().clone()
    results, facts, single = {}, {}, {}
    torch.manual_seed(7)
    try:
        output = _output(layer, x)
    except RuntimeError:
        # The error is that of training alone, also of logits that are not trained.
        raised = []
        calls = [
            lambda: layer.get_delta_weight(names[0]),
            lambda: layer._get_lora_matrices(names[0]),
            lambda: layer._get_lora_matrices(names[0], cast_to_fp32=True),
            lambda: layer.requires_grad_(False).get_delta_weight(names[0]),
            lambda: layer._get_lora_matrices(names[0]),
        ]
        for call in calls:
            try:
                call()
            except RuntimeError:
                raised.append(True)
            else:
                raised.append(False)
        layer.eval()
        kept = _output(layer, x).detach() if "," not in case["infinite"] else torch.zeros(1)
        return {"raised": raised} | _sorted({"out of training": kept}, dtype, False)
    facts["output"] = [str(output.dtype), list(output.shape), output.requires_grad]
    facts["next number"] = torch.rand(1).item()
    results["output"] = output.detach().clone()
    (output * (factor * case["weights"]).to(base_dtype)).sum().backward()
    results["x"] = x.grad.clone()
    facts["x"] = str(x.grad.dtype)
    for name, item in layer.named_parameters():
        facts[f"gradient of {name}"] = None if item.grad is None else str(item.grad.dtype)
        if item.grad is not None:
            results[f"gradient of {name}"] = item.grad.clone()
    facts["unchanged"] = torch.equal(x.detach(), before)
    for name in names:
        layer.zero_grad()
        update = layer.get_delta_weight(name)
        facts[f"{name}, update"] = [str(update.dtype), list(update.shape), update.requires_grad]
        results[f"{name}, update"] = update.detach().clone()
        update.sum().backward()
        for which in ("A", "B"):
            grad = getattr(layer, f"vblora_logits_{which}")[name].grad
            results[f"{name}, gradient of {which}"] = grad.clone()
            facts[f"{name}, zeros of {which}"] = (
                (grad == 0).sum().item()
                if case["adapters"][0]["topk"] == 2 and dtype in (torch.float32, torch.float64)
                else 0
            )
        results[f"{name}, gradient of the bank"] = bank[name].grad.clone()
        for cast in (False, True):
            pair = layer._get_lora_matrices(name, cast_to_fp32=cast)
            facts[f"{name}, factors, {cast}"] = [
                type(pair) is tuple,
                *[[str(item.dtype), list(item.shape)] for item in pair],
            ]
            for which, item in zip("AB", pair, strict=True):
                (single if cast else results)[f"{name}, {which}"] = item.detach().clone()
        (named, _) = layer._get_lora_matrices(adapter=name)
        facts[f"{name}, by default"] = str(named.dtype)
    facts["state"] = all(torch.equal(item, state[name]) for name, item in layer.state_dict().items())
    facts["modes"] = [module.training for module in layer.modules()]
    facts["attributes"] = sorted(vars(layer)) == attributes
    facts["settings"] = [dict(layer.topk), dict(layer.r), layer.training, layer.active_adapters, layer.merged_adapters]
    with torch.no_grad():
        # Later on: other values, other settings, the other mode; merged, and no more.
        layer.topk[names[0]] = 1
        torch.manual_seed(8)
        results["other setting"] = _output(layer, x.detach())
        results["other inputs"] = _output(layer, x.detach().flip(-1))
        layer.train(not case["training"])
        if "infinite" not in case or case["training"]:
            results["other mode"] = _output(layer, x.detach())
        layer.eval()
        for logits in (layer.vblora_logits_A[names[0]], layer.vblora_logits_B[names[0]]):
            logits.data.copy_(logits.flip(-1))
        if "infinite" not in case:
            results["other logits"] = _output(layer, x.detach())
            results["before another bank"] = layer.get_delta_weight(names[0])
            bank[names[0]].data.mul_(-0.5)
            results["other bank"] = layer.get_delta_weight(names[0])
            if case["base dtype"] is None and dtype != torch.float16:
                layer.merge()
                results["weight, merged"] = base.weight.detach().clone()
                facts["merged"] = list(layer.merged_adapters)
                layer.unmerge()
                results["weight, afterwards"] = base.weight.detach().clone()
    low = (
        torch.tensor(0.0, dtype=base_dtype) if base_dtype.itemsize < dtype.itemsize else torch.tensor(0.0, dtype=dtype)
    )
    observed = _sorted(results, low.dtype, False)
    return (
        observed | facts | {"single factors": {name: item.double() for name, item in single.items()}}
        if dtype.itemsize >= 4
        else observed | facts
    )


def _output(layer, x):
    """What the layer's `forward` returns, which is masked, too."""
    output = layer.base_layer(x)
    for name in layer.active_adapters:
        a, b = layer._get_lora_matrices(name)
        output = output + x.to(a.dtype) @ a.T @ b.T
    return output.to(x.dtype)


def _infinite(logits, case, which):
    where = case.get("infinite", "")
    logits = logits.clone()
    if not where.startswith(which):
        return logits
    infinite = float("-inf")
    if where == "A other piece":
        place = logits[0, 1]
    elif where == "A other row":
        place = logits[1, 0]
    elif where == "B last":
        place = logits[-1, -1]
    else:
        place = logits[0, 0]
    if "," in where:
        place[place.argmax()] = float("inf")
    if "positive" not in where:
        place[1 + place[1:].argmin()] = infinite
    return logits


def _sorted(results, dtype, far):
    name = {4: "far" if far else "single", 8: "double", 2: "half"}[dtype.itemsize]
    return {name: {key: item.double() for key, item in results.items()}}


def _laid_out(item, layout):
    if layout == "transposed":
        return item.mT.contiguous().mT if item.dim() > 1 else item
    if layout == "expanded":
        return item[:1].clone().expand_as(item)
    if layout == "spread":
        return item.new_zeros(*item.shape[:-1], 2 * item.shape[-1])[..., ::2].copy_(item)
    return item.contiguous()
