"""Permutations, Cayley transforms, products of factors and outputs of layers with gradients; then the experiment."""

import torch

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16, "float16": torch.float16}


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    yield {
        "name": "permutations",
        "given": [
            [8, 4, 1, 1], [8, 2, 1, 1], [8, 1, 1, 2], [8, 1, 2, 1], [16, 2, 2, 3], [16, 1, 2, 2], [32, 1, 4, 4],
            [12, 1, 3, 1], [24, 2, 3, 1], [24, 1, 3, 2], [12, 2, 1, 1], [36, 1, 3, 1], [48, 1, 2, 3], [512, 2, 8, 4],
            [2, 1, 1, 1], [6, 1, 1, 1], [20, 2, 2, 1], [64, 8, 4, 2], [30, 1, 5, 2], [45, 3, 3, 1], [40, 2, 4, 1],
        ],
    }  # fmt: skip
    yield {
        "name": "permutations that are identities",
        "given": [[8, 4, 1, 0], [8, 8, 4, 0], [7, 3, 2, 0], [1, 1, 0, 0], [9, 9, 9, 0], [16, 2, 2, 0]],
    }
    yield {
        "name": "too many blocks",
        "given": [[8, 8, 1, 1], [8, 4, 2, 1], [8, 2, 4, 2], [4, 4, 4, 3], [12, 3, 3, 1], [8, 8, 1, 0], [12, 2, 3, 1]],
    }
    yield {"name": "permutations by default", "defaults": True}

    def cayley(name, count=3, size=4, factor=1.0, **more):
        return {
            "name": f"Cayley, {name}",
            "data": factor * normal(count, size, size),
            "weights": normal(count, size, size),
            "dtype": "float32",
            "layout": "contiguous",
            "far": False,
            **more,
        }

    yield cayley("a few")
    yield cayley("one", count=1)
    yield cayley("of one entry", size=1)
    yield cayley("of two", size=2)
    yield cayley("as many as wide", count=4)
    yield cayley("many", count=60, size=3)
    yield cayley("wide", count=2, size=32, factor=0.3)
    yield cayley("large", factor=8.0, far=True)
    yield cayley("very large", factor=30.0, far=True)
    yield cayley("small", factor=1e-3)
    yield cayley("zero", factor=0.0)
    given = cayley("skew already")
    yield given | {"data": given["data"] - given["data"].mT}
    given = cayley("symmetric")
    yield given | {"data": given["data"] + given["data"].mT}
    yield cayley("double precision", dtype="float64")
    yield cayley("large in double precision", dtype="float64", factor=10.0)
    yield cayley("double precision of one", dtype="float64", count=1, size=1)
    yield cayley("half precision", dtype="bfloat16")
    yield cayley("another half precision", dtype="float16")
    yield cayley("half precision, wide", dtype="bfloat16", size=16)
    for layout in ("transposed", "spread", "expanded"):
        yield cayley(f"a layout that is {layout}", layout=layout)

    def layer(name, blocks=4, size=4, factors=2, outputs=6, adapters=1, x=(5,), **more):
        inputs = blocks * size
        scale = more.pop("scale", 0.5)
        return {
            "name": f"layer, {name}",
            "weight": normal(outputs, inputs),
            "bias": normal(outputs),
            "biased": True,
            "x": normal(*x, inputs),
            "weights": normal(*x, outputs),
            "weights of the product": normal(inputs, inputs),
            "R": scale * normal(adapters, factors, blocks, size, size),
            "s": 1 + 0.5 * normal(adapters, outputs, 1),
            "factors": factors,
            "size": size,
            "active": list(range(adapters)),
            "dtype": "float32",
            "dropout": 0.0,
            "training": False,
            "extension": True,
            "far": False,
            "layout": "contiguous",
            **more,
        }

    yield layer("two factors")
    yield layer("one factor", factors=1)
    yield layer("three factors", factors=3)
    yield layer("four factors", blocks=8, size=2, factors=4)
    yield layer("five factors", blocks=16, size=2, factors=5)
    yield layer("fewer factors than levels", blocks=8, size=4, factors=3)
    yield layer("other numbers of blocks", blocks=6, size=2, factors=2)
    yield layer("twelve blocks", blocks=12, size=4, factors=3)
    yield layer("two blocks", blocks=2, size=4, factors=2)
    yield layer("one block", blocks=1, size=6, factors=1)
    yield layer("blocks of one", blocks=5, size=1, factors=1)
    yield layer("odd blocks", blocks=3, size=5, factors=1)
    yield layer("all of one", blocks=1, size=1, factors=1, outputs=1)
    yield layer("large blocks", blocks=2, size=32, factors=2, scale=0.1)
    yield layer("a square", outputs=16)
    yield layer("one output", outputs=1)
    yield layer("more outputs than inputs", outputs=30)
    yield layer("without a bias", biased=False)
    yield layer("a vector", x=())
    yield layer("one row", x=(1,))
    yield layer("no rows", x=(0,))
    yield layer("three dimensions", x=(2, 3))
    yield layer("four dimensions", x=(2, 1, 3))
    yield layer("two adapters", adapters=2)
    yield layer("two adapters of a square", adapters=2, outputs=16)
    yield layer("three adapters of one factor", adapters=3, factors=1)
    yield layer("two adapters in another order", adapters=2, active=[1, 0])
    yield layer("one of two adapters", adapters=2, active=[1])
    yield layer("an adapter that the layer has not", adapters=2, active=[0, 9, 1])
    yield layer("no adapter that the layer has", active=[9])
    yield layer("no active adapter", active=[])
    for layout in ("transposed", "spread", "expanded"):
        yield layer(f"a layout that is {layout}", layout=layout)
    yield layer("double precision", dtype="float64", factors=3)
    yield layer("double precision, two adapters", dtype="float64", adapters=2)
    yield layer("double precision without the extension", dtype="float64", factors=1, extension=False)
    given = layer("half precision", dtype="bfloat16")
    yield given | {"weight": 0.3 * given["weight"]}
    given = layer("half precision, one factor", dtype="bfloat16", factors=1, scale=2.0)
    yield given | {"weight": 0.3 * given["weight"]}
    given = layer("half precision, two adapters", dtype="bfloat16", adapters=2)
    yield given | {"weight": 0.2 * given["weight"]}
    yield layer("large blocks' entries", scale=10.0, far=True)
    given = layer("large inputs", far=True)
    yield given | {"x": 60 * given["x"]}
    given = layer("large scales", far=True)
    yield given | {"s": 60 * given["s"]}
    yield layer("the identity", scale=0.0)
    given = layer("scales of zero")
    yield given | {"s": 0 * given["s"]}
    yield layer("without the extension", factors=1, extension=False)
    yield layer("without the extension, one block", blocks=1, size=4, factors=1, extension=False)
    yield layer("without the extension, two adapters", factors=1, extension=False, adapters=2)
    yield layer("without the extension, dropout", factors=1, extension=False, dropout=0.5, training=True)
    for share in (0.25, 0.6, 1.0):
        yield layer(f"dropout of {share} in training", dropout=share, training=True, factors=3)
    yield layer("dropout in training, two adapters", dropout=0.5, training=True, adapters=2)
    yield layer("dropout in training, double precision", dropout=0.5, training=True, dtype="float64")
    yield layer("dropout out of training", dropout=0.5)
    yield layer("training without dropout", training=True)
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "given" in case or "defaults" in case:
        return _permutations(case)
    return _cayley(case) if "data" in case else _layer(case)


def _plain():
    from peft.tuners.boft import Linear

    return Linear(torch.nn.Linear(4, 3), "a", boft_block_size=2, boft_n_butterfly_factor=1)


def _permutations(case):
    layer = _plain()
    if "defaults" in case:
        return {
            "found": [
                layer.block_butterfly_perm(12, 1).tolist(),
                layer.block_butterfly_perm(24, 2).tolist(),
                layer.block_butterfly_perm(n=16, b=2, r=2).tolist(),
                layer.block_butterfly_perm(6, 1, n_butterfly_factor=0).tolist(),
            ]
        }
    found = []
    for given in case["given"]:
        try:
            order = layer.block_butterfly_perm(*given)
        except ValueError:
            found.append("a ValueError")
            continue
        found.append([order.tolist(), str(order.dtype)])
        # What was returned is the caller's own.
        order.zero_()
        found.append(layer.block_butterfly_perm(*given).tolist())
    return {"found": found}


def _cayley(case):
    layer = _plain()
    dtype = DTYPES[case["dtype"]]
    data = _laid_out(case["data"].to(dtype, copy=True), case["layout"]).requires_grad_()
    before = data.detach().clone()
    output = layer.cayley_batch(data)
    (output * case["weights"].to(output.dtype)).sum().backward()
    results = {"output": output.detach().clone()}
    facts = {"dtype": str(output.dtype), "shape": list(output.shape), "gradient": str(data.grad.dtype)}
    results["gradient"] = data.grad
    with torch.no_grad():
        output.zero_()
        results["again"] = layer.cayley_batch(data)
        results["another"] = layer.cayley_batch(0.5 * data[:1])
    facts["unchanged"] = torch.equal(data.detach(), before)
    # What half precision has lost already differs by the order in which it is lost.
    return _sorted(results, dtype, case["far"]) | facts


def _layer(case):
    from peft.tuners.boft import Linear
    from peft.tuners.boft import layer as module

    dtype = DTYPES[case["dtype"]]
    outputs, inputs = case["weight"].shape
    base = torch.nn.Linear(inputs, outputs, bias=case["biased"], dtype=dtype)
    with torch.no_grad():
        base.weight.copy_(case["weight"])
        if case["biased"]:
            base.bias.copy_(case["bias"])
    names = [f"adapter {number}" for number in range(len(case["R"]))]
    kept = module._FBD_CUDA
    layer = None
    for name in names:
        settings = (case["size"], 0, case["factors"], case["dropout"], True)
        if layer is None:
            layer = Linear(base, name, *settings[:4])
        else:
            layer.update_layer(name, *settings)
    if dtype == torch.float64:
        layer.double()
    with torch.no_grad():
        for number, name in enumerate(names):
            layer.boft_R[name].copy_(case["R"][number])
            layer.boft_s[name].copy_(case["s"][number])
            if case["layout"] != "contiguous":
                # The layout of parameters, as far as they are not all alike.
                layer.boft_s[name] = torch.nn.Parameter(_laid_out(layer.boft_s[name].detach(), "spread"))
    base.weight.data = _laid_out(base.weight.data, case["layout"]) if case["layout"] != "expanded" else base.weight.data
    layer.set_adapter([names[number] if number < len(names) else "another" for number in case["active"]])
    layer.requires_grad_(True)
    layer.train(case["training"])
    layer.fbd_cuda_available = case["extension"]
    if not case["extension"]:
        module._FBD_CUDA = _Missing()
    try:
        return _observed(case, layer, base, names, dtype, module)
    finally:
        module._FBD_CUDA = kept


class _Missing:
    """An extension that is not to be called."""


def _observed(case, layer, base, names, dtype, module):
    x = _laid_out(case["x"].to(dtype, copy=True), case["layout"]).requires_grad_()
    dropped = []

    def note(_, given):
        dropped.append([str(given[0].dtype), list(given[0].shape)])

    hooks = [item.register_forward_pre_hook(note) for item in layer.boft_dropout.values()]
    attributes = sorted(vars(layer))
    bias = base.bias
    state = {name: item.detach().clone() for name, item in layer.state_dict().items()}
    permutations = layer.boft_P.clone()
    before = x.detach().clone()
    results, facts, wide = {}, {}, {}
    torch.manual_seed(5)
    output = layer(x)
    facts["next number"] = torch.rand(1).item()
    facts["what is dropped"] = list(dropped)
    facts["output"] = [str(output.dtype), list(output.shape), output.requires_grad]
    results["output"] = output.detach().clone()
    (output * case["weights"].to(dtype)).sum().backward()
    gradients = {"x": x} | dict(layer.named_parameters())
    for name, item in gradients.items():
        facts[f"gradient of {name}"] = None if item.grad is None else [str(item.grad.dtype), list(item.grad.shape)]
        if item.grad is not None:
            results[f"gradient of {name}"] = item.grad.clone()
    for name in names:
        layer.zero_grad()
        pair = layer.get_delta_weight(name)
        product, scales = pair
        facts[f"{name}, pair"] = [
            type(pair) is tuple,
            scales is layer.boft_s[name],
            str(product.dtype),
            list(product.shape),
        ]
        wide[f"{name}, product"] = product.detach().clone()
        (product * case["weights of the product"].to(product.dtype)).sum().backward()
        facts[f"{name}, gradient of the scales"] = scales.grad is None
        results[f"{name}, gradient of the product"] = layer.boft_R[name].grad.clone()
    for hook in hooks:
        hook.remove()
    facts["still trained"] = [item.requires_grad for item in layer.parameters()]
    facts["nothing more is dropped"] = len(dropped)
    facts["unchanged"] = torch.equal(x.detach(), before) and torch.equal(layer.boft_P, permutations)
    facts["state"] = all(torch.equal(item, state[name]) for name, item in layer.state_dict().items())
    facts["modes"] = [part.training for part in layer.modules()]
    facts["attributes"] = [sorted(vars(layer)) == attributes, base.bias is bias]
    facts["settings"] = [layer.training, layer.active_adapters, layer.merged_adapters, layer.fbd_cuda_available]
    facts["arguments"] = _arguments(layer, x.detach())
    with torch.no_grad():
        # Later on: other values, the other mode; merged, and disabled.
        layer.train(not case["training"])
        torch.manual_seed(6)
        results["other mode"] = layer(x.detach())
        layer.eval()
        layer.boft_R[names[0]].mul_(-0.5)
        layer.boft_s[names[-1]].add_(0.25)
        results["other values"] = layer(x.detach())
        # Nothing of a tensor tells that its data were changed.
        layer.boft_R[names[0]].data.mul_(0.5)
        layer.boft_s[names[0]].data.mul_(1.5)
        results["other data"] = layer(x.detach())
        results["other inputs"] = layer(0.5 * x.detach() + 1)
        wide["other product"] = layer.get_delta_weight(names[0])[0]
        base.weight.data.mul_(0.5)
        results["other weight"] = layer(x.detach())
        # Other permutations of as many indices.
        layer.boft_P.copy_(layer.boft_P.roll(1, dims=2))
        results["other permutations"] = layer(x.detach())
        wide["other permutations"] = layer.get_delta_weight(names[0])[0]
        if case["factors"] == 1 and case["extension"]:
            # From now on there is none.
            layer.fbd_cuda_available = False
            module._FBD_CUDA = _Missing()
            results["no extension any more"] = layer(x.detach())
            wide["no extension any more"] = layer.get_delta_weight(names[0])[0]
        zero = (case["s"] == 0).all().item()
        if dtype != torch.bfloat16 and not zero:
            layer.merge()
            results["weight, merged"] = base.weight.detach().clone()
            results["merged"] = layer(x.detach())
            facts["arguments, merged"] = _arguments(layer, x.detach(), disable=False)
            layer.enable_adapters(False)
            results["disabled"] = layer(x.detach())
            results["weight, disabled"] = base.weight.detach().clone()
            facts["disabled"] = [list(layer.merged_adapters), layer.disable_adapters]
            layer.enable_adapters(True)
            results["enabled"] = layer(x.detach())
    observed = _sorted(results, dtype, case["far"])
    name = next(iter(observed))
    return {name: observed[name] | {key: item.double() for key, item in wide.items()}} | facts


def _arguments(layer, x, disable=True):
    """What the base layer is called with, as it is and when the adapters are disabled."""
    told = []
    kept = layer.base_layer

    class Told(torch.nn.Linear):
        def forward(self, input, *args, **kwargs):
            told.append([[str(item) for item in args], sorted(kwargs)])
            return super().forward(input)

    layer.base_layer = Told(kept.in_features, kept.out_features, dtype=kept.weight.dtype)
    layer.base_layer.register_forward_pre_hook(lambda *_: told.append("called"))
    layer(x, 1, extra=2)
    if disable:
        layer.enable_adapters(False)
        layer(x, 3, other=4)
        layer.enable_adapters(True)
    layer.base_layer = kept
    return told


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
