"""Outputs, gradients and weights of HiRA layers over layouts, dtypes, adapters and merges; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def layer(name, inputs=None, outputs=None, ranks=None, rows=None, fan=False, **more):
        inputs, outputs = inputs or integer(4, 6), outputs or integer(2, 3)
        ranks = ranks or [integer(2, 3)]
        return {
            "name": name,
            "weight": normal(outputs, inputs),
            "bias": normal(outputs),
            "x": normal(*([integer(2, 4)] if rows is None else rows), inputs),
            "factors": [(normal(rank, inputs), normal(outputs, rank)) for rank in ranks],
            "fan": fan,
            "active": list(range(len(ranks))),
            "dropout": 0.0,
            "steps": [],
            "dtype": "float32",
            "wave": integer(0, 9999),
            **more,
        }

    for dtype, fan in product(("float32", "float64"), (False, True)):
        kind = f"{dtype}{', inputs first' * fan}"
        yield layer(f"one adapter, {kind}", fan=fan, dtype=dtype)
        yield layer(
            f"merges of two, {kind}", ranks=[2, 3], fan=fan, dtype=dtype, steps=["merge", "unmerge", "change", "merge"]
        )
    yield layer("two adapters", ranks=[2, 3])
    yield layer("two adapters in another order", ranks=[3, 2], active=[1, 0], dropout=0.3)
    yield layer("one of two adapters", ranks=[2, 3], active=[1], steps=["activate 0", "merge"])
    yield layer("without a bias", biased=False)
    yield layer("a square one", 4, 4)
    yield layer("a square one, inputs first", 4, 4, fan=True, steps=["merge"])
    yield layer("rank one", ranks=[1], dtype="float64")
    yield layer("a rank above the sizes", 3, 2, ranks=[5])
    yield layer("a vector", rows=[])
    yield layer("three dimensions", rows=[2, 3])
    for dropout in (0.2 + 0.1 * integer(0, 2), 0.6):
        yield layer(f"dropout, {dropout > 0.5}", ranks=[2, 2], dropout=dropout, rows=[6])
    yield layer("dropout in evaluation", dropout=0.5, steps=["eval"])
    yield layer("one after the other", ranks=[2, 3], steps=["merge 0", "merge 1"])
    yield layer(
        "one after the other, reversed", ranks=[2, 3], active=[1], steps=["merge", "activate 0", "merge", "unmerge"]
    )
    yield layer("safe, one after the other", ranks=[2, 3], steps=["safe 1", "safe 0"], dtype="float64")
    yield layer("some names", ranks=[2, 3, 1], steps=["merge 2 0", "unmerge", "merge 1"])
    yield layer("merged twice", ranks=[2, 3], steps=["merge", "merge"])
    yield layer("disabled", steps=["disable", "enable"])
    yield layer("merged, then disabled", ranks=[2, 3], steps=["merge", "disable", "enable"])
    yield layer("arguments", scaled=True, steps=["disable", "enable", "merge"])
    yield layer("changes", ranks=[2, 3], steps=["change", "weight", "change"])
    for value in ("inf", "nan"):
        yield layer(f"{value}, safe", ranks=[2, 3], steps=["safe 0", f"break {value}", "safe", "unmerge"], broken=True)
    yield layer("not safe, then safe", ranks=[2, 3], steps=["merge 0", "break inf", "safe 1"], broken=True)
    yield layer("safe, then not", ranks=[2, 3], steps=["safe 0", "break inf", "merge 1"], broken=True)
    given = layer("a sum that overflows, safe", ranks=[2], steps=["safe"], broken=True)
    a, b = given["factors"][0]
    half = torch.full_like(a, 0.5), torch.full_like(b, 0.5)
    yield given | {"weight": torch.full_like(given["weight"], 3e38), "factors": [half]}
    yield layer("inf, not safe", ranks=[2], steps=["break inf", "merge"], broken=True)
    yield {"name": "experiment", "seed": seed % 1000}

    yield layer("an adapter without factors", ranks=[2, 3], active=[0, 9, 1], steps=["merge"], edge=True)
    yield layer("no factors at all", active=[9], steps=["merge"], edge=True)
    yield layer("no active adapter", active=[], steps=["merge", "weight", "activate 0", "merge"], edge=True)
    for fan in (False, True):
        yield layer(f"wider factors, {fan}", ranks=[2, 3], fan=fan, factor_dtype="float64", steps=["merge"], edge=True)
        yield layer(f"half precision, {fan}", ranks=[2], fan=fan, dtype="bfloat16", factor_dtype="float32", edge=True)
    yield layer("half precision, merged", dtype="bfloat16", factor_dtype="float32", steps=["merge"], edge=True)
    yield layer("half precision of all", dtype="bfloat16", factor_dtype="bfloat16", steps=["merge"], edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    import warnings

    from peft.tuners.hira import HiraConfig, Linear
    from transformers.pytorch_utils import Conv1D

    outputs, inputs = case["weight"].shape
    fan, dtype = case["fan"], getattr(torch, case["dtype"])
    base = Conv1D(outputs, inputs) if fan else torch.nn.Linear(inputs, outputs, bias=case.get("biased", True))
    with torch.no_grad():
        base.weight.copy_(case["weight"].T if fan else case["weight"])
        if base.bias is not None:
            base.bias.copy_(case["bias"])
    base.to(dtype).requires_grad_(False)
    if case.get("scaled"):
        base.register_forward_pre_hook(_with_arguments, with_kwargs=True)

    outputs_of_base = []
    base.register_forward_hook(lambda _, __, output: outputs_of_base.append((output, output.detach().clone())))

    layer = None
    for number, (a, b) in enumerate(case["factors"]):
        name, rank = f"adapter {number}", len(a)
        config = HiraConfig(r=rank, hira_dropout=case["dropout"], fan_in_fan_out=fan)
        if layer is None:
            layer = Linear(base, name, config, r=rank, fan_in_fan_out=fan)
        else:
            layer.update_layer(name, rank, config)
        kind = getattr(torch, case.get("factor_dtype", case["dtype"]))
        layer.hira_A[name] = torch.nn.Parameter(a.to(kind))
        layer.hira_B[name] = torch.nn.Parameter(b.to(kind))
    layer.set_adapter([f"adapter {number}" for number in case["active"]])
    for parameters in (layer.hira_A, layer.hira_B):
        parameters.requires_grad_(True)

    x = case["x"].to(dtype).requires_grad_()
    kept = {name: item.detach().clone() for name, item in layer.state_dict().items()} | {"x": x.detach().clone()}
    place_of_weight = base.weight.data_ptr()
    arguments, more = ([2.5], {"factor": 0.7}) if case.get("scaled") else ([], {})
    results, facts, output = [], [], None
    for place, step in enumerate(("", *case["steps"])):
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            facts.append(_changed(layer, base, step))
        torch.manual_seed(case["wave"] + place)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            output = layer(x * (1 + place), *arguments, **more)
        facts.append([str(output.dtype), list(output.shape), list(layer.merged_adapters), len(told)])
        facts.append([module.training for module in layer.modules()])
        results += [base.weight.detach().double()] + ([] if case.get("broken") else [output.detach().double()])
        facts.append([torch.rand(()).item() if case["dropout"] else 0.0, base.weight.data_ptr() == place_of_weight])
    if not case.get("broken"):
        (output * torch.randn(output.shape).to(output.dtype)).sum().backward()
        for item in (x, *layer.hira_A.values(), *layer.hira_B.values()):
            facts.append(None if item.grad is None else str(item.grad.dtype))
            results += [] if item.grad is None else [item.grad.double()]
    if not case["steps"]:
        facts.append([torch.equal(item.detach(), kept[name]) for name, item in layer.state_dict().items()])
    facts.append(torch.equal(x.detach(), kept["x"]))
    facts.append([torch.equal(given.detach().nan_to_num(), then.nan_to_num()) for given, then in outputs_of_base])
    if case["dtype"] == "bfloat16":
        return {"half": [bool(item.isfinite().all()) for item in results], "facts": facts}
    return {"double" if case["dtype"] == "float64" else "single": results, "facts": facts}


def _with_arguments(base, arguments, more):
    """Let the base layer take what is subtracted from its input, and a factor."""
    x, less = (*arguments, 0.0)[:2]
    return ((x - less) * more.get("factor", 1.0),), {}


def _changed(layer, base, step):
    """Do one step, and return the names given, and the type of the error, if any."""
    word, *numbers = step.split() or [""]
    names = [f"adapter {number}" for number in numbers] if word in ("merge", "safe", "activate") and numbers else None
    try:
        if word in ("merge", "safe"):
            layer.merge(safe_merge=word == "safe", adapter_names=names)
        elif word == "unmerge":
            layer.unmerge()
        elif word == "activate":
            layer.set_adapter(names)
        elif word in ("disable", "enable"):
            layer.enable_adapters(word == "enable")
        elif word == "eval":
            layer.eval()
        elif word == "break":
            layer.hira_B["adapter 1" if "adapter 1" in layer.hira_B else "adapter 0"][0, 0] = float(numbers[0])
        elif word == "change":
            for number, b in enumerate(layer.hira_B.values()):
                b.mul_(0.5 + number).add_(0.2)
        elif word == "weight":
            base.weight.mul_(0.7).add_(0.1)
    except ValueError:
        return [names, "ValueError"]
    return [names, ""]
