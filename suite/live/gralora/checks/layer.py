"""Updates, outputs and gradients of GraLoRA layers over grids, hybrids, layouts and dtypes; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def layer(name, grids, rows=None, width=None, fan=False, dtype="float32", factor_dtype=None, **more):
        """Draw a layer with an adapter for each (blocks, rank of a block, hybrid rank) of `grids`."""
        common = 1
        for blocks, _, _ in grids:
            common *= blocks
        inputs, outputs = width or (common * integer(2, 3), common * integer(1, 2) + 0)
        if width is None and inputs == outputs:
            inputs += common
        adapters = []
        for blocks, part, hybrid in grids:
            rank = blocks * part
            adapters.append(
                {
                    "blocks": blocks,
                    "hybrid": hybrid,
                    "alpha": integer(2, 30) / 2
                    if dtype != "bfloat16" and factor_dtype != "bfloat16"
                    else integer(2, 6) / 2,
                    "a": normal(blocks, inputs // blocks, rank),
                    "b": normal(blocks, rank, outputs // blocks),
                    "general": [normal(hybrid, inputs), normal(outputs, hybrid)] if hybrid else [],
                }
            )
        return {
            "name": name,
            "weight": normal(outputs, inputs),
            "bias": normal(outputs),
            "x": normal(*([integer(2, 4)] if rows is None else rows), inputs),
            "adapters": adapters,
            "fan": fan,
            "active": list(range(len(grids))),
            "dropout": 0.0,
            "steps": [],
            "dtype": dtype,
            "factor_dtype": factor_dtype or dtype,
            "wave": integer(0, 9999),
            **more,
        }

    for dtype, fan, hybrid in product(("float32", "float64"), (False, True), (0, 2)):
        rows = [integer(2, 3), integer(2, 3)] if fan == (hybrid > 0) else None
        name = f"{dtype}{', inputs first' * fan}{', hybrid' * bool(hybrid)}"
        yield layer(name, [(integer(2, 3), integer(1, 2), hybrid)], rows=rows, dtype=dtype, fan=fan)
    for blocks, part in ((1, 3), (2, 1), (3, 2), (4, 2), (2, 5)):
        yield layer(
            f"{blocks} blocks of rank {part}",
            [(blocks, part, integer(0, 1))],
            dtype="float64" if part == 5 else "float32",
        )
    yield layer("hybrid of rank one", [(2, 2, 1)], rows=[2, 3])
    yield layer("square blocks", [(2, 2, 2)], width=(4, 4))
    yield layer("square blocks, inputs first", [(2, 2, 0)], width=(4, 4), fan=True)
    yield layer("all sizes alike", [(3, 1, 3)], width=(9, 9), rows=[3, 3])
    for rows in ([1], [1, 1], [4, 1], [1, 4]):
        yield layer(f"rows {rows}", [(2, integer(1, 2), 1)], rows=rows)
    yield layer("two grids", [(2, 2, 0), (3, 1, 2)], rows=[2, 2])
    yield layer("two grids in another order", [(3, 1, 2), (2, 2, 0)], active=[1, 0], dropout=0.3)
    yield layer("one of two grids", [(2, 2, 2), (3, 1, 0)], active=[1])
    yield layer("dropout, two dimensions", [(2, 2, 0), (2, 1, 2)], rows=[6], dropout=0.4 + 0.1 * integer(0, 2))
    yield layer("dropout, three dimensions", [(2, 1, 3)], rows=[2, 4], dropout=0.5)
    yield layer("dropout in evaluation", [(2, 2, 1)], dropout=0.5, steps=["eval"])
    yield layer("merged", [(2, 2, 2), (3, 1, 0)], steps=["merge", "unmerge"])
    yield layer("merged, inputs first", [(2, 2, 1)], fan=True, rows=[2, 2], steps=["merge", "disable", "enable"])
    yield layer("disabled", [(2, 2, 1)], steps=["disable", "enable"])
    yield layer("changes", [(2, 2, 1), (3, 1, 2)], steps=["scale", "change", "weight"])
    given = layer("another grid in its place", [(2, 2, 2), (3, 1, 0)])
    replacement = layer("", [(3, integer(1, 2), 1)], width=given["weight"].shape[::-1])["adapters"][0]
    yield given | {"steps": ["replace", "eval"], "replacement": replacement}
    given = layer("another grid without a LoRA part", [(3, 1, 2), (2, 1, 0)], fan=True)
    replacement = layer("", [(2, 3, 0)], width=given["weight"].shape[::-1])["adapters"][0]
    yield given | {"steps": ["replace"], "replacement": replacement}
    yield layer("other rows in turn", [(2, 2, 1)], steps=["rows", "deep"], rows=[4])
    yield layer("arguments", [(2, 1, 1)], scaled=True, steps=["disable", "enable", "merge"])
    yield {"name": "experiment", "seed": seed % 1000}
    for fan in (False, True):
        name = f"others active than merged{', inputs first' * fan}"
        yield layer(name, [(2, 2, 2), (3, 1, 0)], active=[0], fan=fan, steps=["merge", "other", "disable", "enable"])
    yield layer("one of two merged", [(2, 2, 0), (3, 1, 2)], rows=[2, 2], steps=["merge first", "unmerge"])
    yield layer("merged, then one active", [(2, 2, 1), (3, 1, 0)], steps=["merge", "other", "unmerge"])
    yield layer("merged, then none active", [(2, 2, 1)], dropout=0.3, steps=["merge", "none", "disable"])

    yield layer("an adapter without factors", [(2, 2, 1), (3, 1, 0)], active=[0, 9, 1], edge=True)
    yield layer("no active adapter", [(2, 2, 1)], active=[], edge=True)
    for fan, hybrid in ((False, 0), (True, 2)):
        yield layer(f"wider factors, {fan}", [(2, 2, hybrid)], fan=fan, factor_dtype="float64", edge=True)
        yield layer(f"half precision, {fan}", [(2, 1, hybrid)], fan=fan, dtype="bfloat16", edge=True)
        yield layer(f"factors in half precision, {fan}", [(2, 1, hybrid)], fan=fan, factor_dtype="bfloat16", edge=True)
        yield layer(
            f"half precision, wider factors, {fan}",
            [(2, 1, hybrid)],
            fan=fan,
            dtype="bfloat16",
            factor_dtype="float32",
            edge=True,
        )
    for rows in ([3, 2], [2, 4], [5]):
        yield layer(f"other strides, rows {rows}", [(2, 2, 1)], rows=rows, strides=True, edge=True)
    for blocks, dtype, fan in ((1, "float32", False), (2, "bfloat16", True), (3, "bfloat16", False)):
        # The LoRA part has one rank that counts; the others take the blocks away.
        name = f"parts that cancel, {blocks} blocks"
        given = layer(
            name, [(blocks, 2, 3)], fan=fan, dtype=dtype, factor_dtype="bfloat16", edge=True, update_only=True
        )
        outputs, inputs = given["weight"].shape
        down, up = (normal(size // blocks, 2) for size in (inputs, outputs))
        down, up = (30 * item.sign() + 6 * item for item in (down, up))
        given["adapters"][0] |= {"a": down.repeat(blocks, 1, blocks), "b": up.T.repeat(blocks, blocks, 1)}
        given["adapters"][0]["general"][0][:2] = down.T.repeat(1, blocks)
        given["adapters"][0]["general"][1][:, :2] = -up.repeat(blocks, 1)
        yield given


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    import warnings

    from transformers.pytorch_utils import Conv1D

    outputs, inputs = case["weight"].shape
    fan, dtype = case["fan"], getattr(torch, case["dtype"])
    factor_dtype = getattr(torch, case["factor_dtype"])
    base = Conv1D(outputs, inputs) if fan else torch.nn.Linear(inputs, outputs)
    with torch.no_grad():
        base.weight.copy_(case["weight"].T if fan else case["weight"])
        base.bias.copy_(case["bias"])
    base.to(dtype).requires_grad_(False)
    if case.get("scaled"):
        base.register_forward_pre_hook(_with_arguments, with_kwargs=True)

    layer, factors = None, []
    for number, given in enumerate(case["adapters"]):
        layer, new = _with_adapter(layer, base, f"adapter {number}", given, case, factor_dtype)
        factors += new
    layer.set_adapter([f"adapter {number}" for number in case["active"]])
    for factor in factors:
        factor.requires_grad_(True)

    x = case["x"].to(dtype)
    if case.get("strides"):
        x = x.transpose(0, -2).contiguous().transpose(0, -2) if x.dim() == 3 else x.T.contiguous().T
    x.requires_grad_()
    kept = {name: item.detach().clone() for name, item in layer.state_dict().items()} | {"x": x.detach().clone()}
    results, facts = [], []
    for name in layer.gralora_A:
        delta = layer.get_delta_weight(name)
        facts.append([str(delta.dtype), list(delta.shape), delta.requires_grad])
        results.append(delta.detach().double())
        torch.manual_seed(case["wave"])
        slopes = torch.autograd.grad(
            (delta * torch.randn(delta.shape).to(delta.dtype)).sum(), factors, allow_unused=True
        )
        facts.append([slope is None for slope in slopes])
        results += [slope.double() for slope in slopes if slope is not None]

    if case.get("update_only"):
        return {"half": results, "facts": facts}
    arguments, more = ([2.5], {"factor": 0.7}) if case.get("scaled") else ([], {})
    given, output = x, None
    for place, step in enumerate(("", *case["steps"])):
        with torch.no_grad():
            _changed(layer, base, step)
        if step == "replace":
            _with_adapter(layer, base, "adapter 0", case["replacement"], case, factor_dtype)
        given = given[:-1] if step == "rows" else x[None] if step == "deep" else given
        torch.manual_seed(case["wave"] + place)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            output = layer(given * (1 + place), *arguments, **more)
        facts.append(
            [str(output.dtype), list(output.shape), list(layer.merged_adapters), len(told), torch.rand(()).item()]
        )
        results += [output.detach().double(), base.weight.detach().double()]
        results += [layer.get_delta_weight(name).detach().double() for name in layer.gralora_A]
        facts += [[module.training for module in layer.modules()], torch.rand(()).item()]
        facts.append(
            [dict(layer.r), dict(layer.gralora_k), dict(layer.hybrid_r), dict(layer.scaling), layer.fan_in_fan_out]
        )
    if output.requires_grad:
        (output * torch.randn(output.shape).to(output.dtype)).sum().backward()
        for item in (x, *factors):
            facts.append(None if item.grad is None else str(item.grad.dtype))
            results += [] if item.grad is None else [item.grad.double()]
    if not case["steps"]:
        facts.append([torch.equal(item.detach(), kept[name]) for name, item in layer.state_dict().items()])
    facts.append(torch.equal(x.detach(), kept["x"]))
    if "bfloat16" in (case["dtype"], case["factor_dtype"]):
        return {"half": results, "facts": facts}
    return {"double" if case["dtype"] == "float64" else "single": results, "facts": facts}


def _with_adapter(layer, base, name, given, case, dtype):
    """Give a layer an adapter, or make the layer with its first one; return it with the new factors."""
    from peft.tuners.gralora import GraloraConfig, Linear

    config = GraloraConfig(
        r=given["a"].shape[2],
        hybrid_r=given["hybrid"],
        alpha=given["alpha"],
        gralora_k=given["blocks"],
        gralora_dropout=case["dropout"],
        fan_in_fan_out=case["fan"],
    )
    if layer is None:
        layer = Linear(base, name, "a layer", config, r=config.r)
    else:
        layer.update_layer(name, "a layer", config.r, config)
    layer.gralora_A[name] = torch.nn.Parameter(given["a"].to(dtype))
    layer.gralora_B[name] = torch.nn.Parameter(given["b"].to(dtype))
    factors = [layer.gralora_A[name], layer.gralora_B[name]]
    if given["hybrid"]:
        for module, matrix in zip(
            (layer.gralora_A_general[name], layer.gralora_B_general[name]), given["general"], strict=True
        ):
            module.weight = torch.nn.Parameter(matrix.to(dtype))
            factors.append(module.weight)
    return layer, factors


def _with_arguments(base, arguments, more):
    """Let the base layer take what is subtracted from its input, and a factor."""
    x, less = (*arguments, 0.0)[:2]
    return ((x - less) * more.get("factor", 1.0),), {}


def _changed(layer, base, step):
    """Do one step between calls."""
    if step == "merge":
        layer.merge()
    elif step == "merge first":
        layer.merge(adapter_names=["adapter 0"])
    elif step in ("other", "none"):
        layer.set_adapter(["adapter 1"] if step == "other" else [])
    elif step == "unmerge":
        layer.unmerge()
    elif step in ("disable", "enable"):
        layer.enable_adapters(step == "enable")
    elif step == "eval":
        layer.eval()
    elif step == "scale":
        for number, name in enumerate(layer.scaling):
            layer.scaling[name] *= 1.5 + number
    elif step == "change":
        for number, name in enumerate(layer.gralora_B):
            layer.gralora_B[name].mul_(0.5 + number).add_(0.2)
            if layer.hybrid_r[name]:
                layer.gralora_A_general[name].weight.add_(0.3)
    elif step == "weight":
        base.weight.mul_(0.7).add_(0.1)
