"""Outputs and gradients of the function over sizes, groups, scales and dtypes, what it keeps; then the experiment."""

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def scale():
        return 0.3 + 1.5 * torch.rand((), generator=generator).item()

    def case(name, rows=None, features=None, groups=None, outputs=None, dtype="float32", **more):
        rows = [integer(3, 6)] if rows is None else rows
        groups = groups or integer(2, 4)
        features = features or groups * integer(2, 4)
        outputs = outputs or integer(2, 5)
        return {
            "name": name,
            "inputs": [normal(*rows, features), normal(*rows, features)],
            "weight": normal(outputs, features),
            "bias": normal(outputs),
            "embed": normal(-(-features // groups)),
            "groups": groups,
            "scales": [scale(), scale()],
            "weights": [normal(*rows, outputs), normal(*rows, outputs)],
            "dtype": dtype,
            "trained": ["input", "weight", "bias"],
            **more,
        }

    for dtype in ("float32", "float64"):
        yield case(f"even groups, {dtype}", dtype=dtype)
        yield case(f"without bias, {dtype}", dtype=dtype, bias=None, trained=["input", "weight"])
        yield case(f"three dimensions, {dtype}", [2, integer(2, 4)], dtype=dtype)
        groups = integer(3, 4)
        yield case(f"padding of one feature, {dtype}", features=groups * integer(2, 4) - 1, groups=groups, dtype=dtype)
        yield case(f"padding of more, {dtype}", features=4 * integer(2, 3) + 1, groups=4, dtype=dtype)
        yield case(f"groups of padding, {dtype}", features=9, groups=6, dtype=dtype)
        yield case(f"one group, {dtype}", features=integer(3, 7), groups=1, dtype=dtype)
        yield case(f"as many groups as features, {dtype}", features=6, groups=6, dtype=dtype)
    given = case("a direction of norm one", [integer(4, 6)])
    yield given | {"embed": given["embed"] / given["embed"].norm()}
    yield case("four dimensions", [2, 1, 3])
    yield case("one output", outputs=1)
    yield case("one token", [1])
    yield case("all sizes alike", [4], 4, 2, 4)
    yield case("as many groups as features in one", [5], 9, 3, 3)
    yield case("more groups than features", features=integer(2, 4), groups=integer(5, 7))
    for trained in (["input"], ["weight"], ["bias"], ["input", "bias"], ["weight", "bias"], ["weight", "embed"]):
        yield case(f"gradients of {' and '.join(trained)}", trained=trained)
    yield case("no gradients", trained=[])
    yield case("an output summed up", [2, 3], summed=True)
    yield case("an output used turned", [2, 3], turned=True)
    for rows in ([6], [2, 4]):
        yield case(f"what is kept, {len(rows)}", rows, 24, integer(2, 4), 2, memory=True)
        yield case(f"an input overwritten, {len(rows)}", rows, overwritten=True)
    for dtype in ("float32", "float64"):
        for name, features, groups in (("even", 6, 3), ("padded", 7, 3), ("one group", 4, 1)):
            yield case(f"helpers, {name}, {dtype}", [2, integer(2, 3)], features, groups, dtype=dtype, helpers=True)
    yield {"name": "experiment", "seed": seed % 1000}

    for dtype, other in (("float32", "float64"), ("float64", "float32"), ("float32", "bfloat16")):
        given = case(f"a direction in {other} for {dtype}", dtype=dtype, other=other, edge=True)
        # The same numbers in every dtype, so that casts are exact.
        yield given | {"embed": given["embed"].bfloat16().double()}
    yield case("a vector", [], edge=True)
    yield case("a vector, padded", [], 7, 3, edge=True)
    yield case("no rows", [0], edge=True)
    yield case("no rows of three dimensions", [2, 0], edge=True)
    for rows in ([4], [3, 2]):
        yield case(f"not contiguous, {len(rows)}", rows, strided=True, edge=True)
    yield case("not contiguous, padded", [4], 7, 3, strided=True, edge=True)
    given = case("a scale of zero", edge=True)
    yield given | {"scales": [0.0, given["scales"][1]]}
    yield case("half precision", dtype="bfloat16", edge=True)
    yield case("half precision, padded", features=7, groups=3, dtype="bfloat16", edge=True)
    yield case("autocast", autocast=True, edge=True)
    yield case("autocast, padded", features=7, groups=3, autocast=True, edge=True)
    yield case("autocast, without bias", bias=None, trained=["input", "weight"], autocast=True, edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    dtype = getattr(torch, case["dtype"])
    if case.get("helpers"):
        return _helpers(case, dtype)
    from peft.tuners.lora.velora import VeloraFunction

    trained = case["trained"]

    inputs = [item.to(dtype) for item in case["inputs"]]
    if case.get("strided"):
        inputs = [item.transpose(0, -1).contiguous().transpose(0, -1) for item in inputs]
    inputs = [item.requires_grad_("input" in trained) for item in inputs]
    weight = case["weight"].to(dtype)
    if case.get("strided"):
        weight = weight.T.contiguous().T
    weight = weight.requires_grad_("weight" in trained)
    bias = None if case["bias"] is None else case["bias"].to(dtype).requires_grad_("bias" in trained)
    embed = case["embed"].to(getattr(torch, case.get("other", case["dtype"]))).requires_grad_("embed" in trained)
    given = {"input": inputs, "weight": [weight], "bias": [bias], "embed": [embed]}
    kept = [item.detach().clone() for name in given for item in given[name] if item is not None]

    outputs = []
    with torch.autocast("cpu", torch.bfloat16, enabled=case.get("autocast", False)):
        for item, scale in zip(inputs, case["scales"], strict=True):
            outputs.append(VeloraFunction.apply(item, weight, bias, embed, case["groups"], scale))
    facts = [[str(item.dtype), list(item.shape), item.requires_grad] for item in outputs]
    values = [item.detach().clone() for item in outputs]
    facts += [all(map(torch.equal, kept, [item for name in given for item in given[name] if item is not None]))]
    if case.get("memory"):
        # Whatever is kept by any means, but for the weight and the projection.
        found = [[output.grad_fn.saved_tensors, vars(output.grad_fn)] for output in outputs]
        while any(isinstance(item, (list, tuple, dict)) for item in found):
            found = [
                part
                for item in found
                for part in (
                    item.values() if isinstance(item, dict) else item if isinstance(item, (list, tuple)) else [item]
                )
            ]
        found = [
            item for item in found if isinstance(item, torch.Tensor) and item.shape not in (weight.shape, embed.shape)
        ]
        allowed = sum(item.shape[:-1].numel() * case["groups"] for item in inputs)
        facts.append(sum(item.numel() for item in found) <= allowed)
    if case.get("overwritten"):
        for item in inputs:
            item.data.fill_(3.0)
    if trained:
        factors = case["weights"]
        if case.get("turned"):
            # Factors, and so the gradient of the output, that are not contiguous.
            factors = [item.transpose(0, 1).contiguous().transpose(0, 1) for item in factors]
        loss = sum(
            (output.sum() if case.get("summed") else (output * factor.to(output.dtype)).sum())
            for output, factor in zip(outputs, factors, strict=True)
        )
        asked = [item for name in trained for item in given[name]]
        gradients = torch.autograd.grad(loss, asked, allow_unused=True)
        facts += [None if item is None else [str(item.dtype), list(item.shape)] for item in gradients]
        values += [item for item in gradients if item is not None]
    if case["dtype"] == "bfloat16" or case.get("autocast"):
        return {"facts": facts, "finite": [bool(item.isfinite().all()) for item in values]}
    return {"facts": facts, "double" if dtype == torch.float64 else "near": values}


def _helpers(case, dtype):
    from peft.tuners.lora.velora import _compress_activations, _reconstruct_activations

    values, facts = [], []
    embed = case["embed"].to(dtype)
    for item, scale in zip(case["inputs"], case["scales"], strict=True):
        given = item.to(dtype)
        compressed = _compress_activations(given, embed, case["groups"])
        values.append(compressed.clone())
        values.append(_reconstruct_activations(compressed, embed, item.shape[-1], scale))
        facts += [torch.equal(given, item.to(dtype)), torch.equal(compressed, values[-2])]
    facts += [torch.equal(embed, case["embed"].to(dtype)), [[str(item.dtype), list(item.shape)] for item in values]]
    return {"facts": facts, "double" if dtype == torch.float64 else "near": values}
