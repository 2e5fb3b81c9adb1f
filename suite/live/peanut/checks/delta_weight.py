"""Updates and gradients over depths, activations and dtypes, and their use by the layer; then the experiment."""

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def scale():
        return 0.3 + 1.5 * torch.rand((), generator=generator).item()

    def case(name, depths, activations=("relu",), inputs=None, outputs=None, ranks=None, dtype="float32", **more):
        inputs, outputs = inputs or integer(3, 6), outputs or integer(3, 6)
        ranks = ranks or [integer(2, 4) for _ in depths]
        return {
            "name": name,
            "weight": normal(outputs, inputs),
            "x": normal(integer(2, 4), inputs),
            "factor": normal(outputs, inputs),
            "adapters": [
                {
                    "a": normal(rank, outputs),
                    "b": normal(outputs, rank),
                    # Large enough that no part of the network is negligible.
                    "encoders": [normal(rank, rank) for _ in range(depth)],
                    "decoders": [normal(rank, rank) for _ in range(depth)],
                    "activation": activation,
                    "scale": scale(),
                }
                for rank, depth, activation in zip(ranks, depths, activations, strict=True)
            ],
            "dtype": dtype,
            "steps": [],
            **more,
        }

    for depth in range(4):
        for dtype in ("float32", "float64"):
            yield case(f"depth {depth}, relu, {dtype}", [depth], dtype=dtype)
            activation = ("silu", "tanh", "gelu", "leaky_relu")[depth]
            yield case(f"depth {depth}, {activation}, {dtype}", [depth], [activation], dtype=dtype)
    for activation in ("sigmoid", "mish", "linear"):
        yield case(f"{activation}", [2], [activation])
    size = integer(3, 5)
    yield case("a square weight", [1], ["tanh"], size, size)
    yield case("all sizes alike", [2], ["silu"], 4, 4, [4])
    yield case("rank one", [2], ["gelu"], ranks=[1])
    yield case("one input", [1], ["tanh"], inputs=1)
    yield case("one output", [1], ["silu"], outputs=1)
    yield case("a wide rank", [1], ["tanh"], ranks=[9])
    yield case("two adapters", [1, 2], ["tanh", "silu"])
    yield case("two adapters of one rank", [2, 1], ["gelu", "relu"], ranks=[3, 3])
    yield case("a frozen weight", [2], ["tanh"], frozen=True)
    yield case("changed scaling", [1], ["silu"], steps=["scaling"])
    yield case("changed activation", [2], ["tanh"], steps=["activation"])
    yield case("changed weights", [2], ["silu"], steps=["weights", "base"])
    yield case("one more encoder and decoder", [1], ["tanh"], steps=["deeper"])
    yield case("in evaluation", [2], ["silu"], training=False)
    yield case("used by the layer", [2], ["tanh"], use=["forward"])
    yield case("two used by the layer", [1, 2], ["gelu", "tanh"], use=["forward"])
    yield case("merged and unmerged", [1, 2], ["silu", "tanh"], use=["merge", "unmerge"])
    yield {"name": "experiment", "seed": seed % 1000}
    yield case("deep", [integer(4, 5)], ["tanh"])
    yield case("frozen adapters", [1, 2], ["tanh", "silu"], frozen_adapters=True)

    yield case("an unknown adapter", [1], unknown=True, edge=True)
    for base, dtype in (("float32", "float64"), ("float64", "float32"), ("bfloat16", "float32")):
        given = case(f"a weight in {base} for {dtype}", [1], ["tanh"], dtype=dtype, base=base, edge=True)
        # The same numbers in every dtype, so that the cast is exact.
        yield given | {"weight": given["weight"].bfloat16().double()}
    yield case("no scaling", [1], ["tanh"], steps=["no scaling"], edge=True)
    yield case("an activation of the user", [2], ["silu"], steps=["new activation"], edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from peft.tuners.peanut.config import PeanutConfig
    from peft.tuners.peanut.layer import Linear

    dtype = getattr(torch, case["dtype"])
    kind = getattr(torch, case.get("base", case["dtype"]))
    outputs, inputs = case["weight"].shape
    base = torch.nn.Linear(inputs, outputs, dtype=kind).requires_grad_(not case.get("frozen", False))
    layer, names = None, []
    for number, adapter in enumerate(case["adapters"]):
        names.append(f"adapter {number}")
        config = PeanutConfig(len(adapter["encoders"]), adapter["activation"], adapter["scale"], False)
        if layer is None:
            layer = Linear(base, names[-1], len(adapter["a"]), config)
        else:
            layer.update_layer(names[-1], len(adapter["a"]), config)
    with torch.no_grad():
        base.weight.copy_(case["weight"])
        base.bias.fill_(0.25)
        for name, adapter in zip(names, case["adapters"], strict=True):
            held = [
                layer.peanut_A[name],
                layer.peanut_B[name],
                *layer.peanut_encoders[name],
                *layer.peanut_decoders[name],
            ]
            drawn = [adapter["a"], adapter["b"], *adapter["encoders"], *adapter["decoders"]]
            for module, item in zip(held, drawn, strict=True):
                module.to(dtype).weight.copy_(item)
    if case.get("unknown"):
        try:
            layer._compute_delta_weight("another", base.weight)
        except ValueError:
            return {"refused": True}
        return {"refused": False}
    if case.get("frozen_adapters"):
        for module in (layer.peanut_A, layer.peanut_B, layer.peanut_encoders, layer.peanut_decoders):
            module.requires_grad_(False)
    layer.train(case.get("training", True))
    values, facts = [], []
    before = {name: item.detach().clone() for name, item in layer.state_dict().items()}
    if case.get("use"):
        layer.set_adapter(names)
        x = case["x"].to(kind)
        for step in case["use"]:
            if step != "forward":
                getattr(layer, step)()
            values += [layer(x).detach(), base.weight.detach().clone()]
    for step in (None, *case["steps"]):
        with torch.no_grad():
            _changed(layer, base, step)
        settings = [dict(layer.scaling), dict(layer.act_fn), dict(layer.depth), dict(layer.res_num)]
        for name in names:
            found = layer._compute_delta_weight(name, base.weight)
            asked = [item for item in layer.parameters() if item.requires_grad]
            loss = (found * case["factor"].to(found.dtype)).sum()
            gradients = torch.autograd.grad(loss, asked, allow_unused=True)
            facts.append([str(found.dtype), list(found.shape), [item is None for item in gradients]])
            values += [found.detach(), *[item for item in gradients if item is not None and item.dtype == dtype]]
        facts.append(settings == [dict(layer.scaling), dict(layer.act_fn), dict(layer.depth), dict(layer.res_num)])
    if not case["steps"] and not case.get("use"):
        facts.append([torch.equal(item, before[name]) for name, item in layer.state_dict().items()])
    facts.append([[name, module.training] for name, module in layer.named_modules()])
    return {"double" if dtype == torch.float64 else "near": values, "facts": facts}


def _changed(layer, base, step):
    from transformers.activations import ACT2FN

    if step == "scaling":
        layer.scaling["adapter 0"] = 0.7
    elif step == "no scaling":
        layer.scaling["adapter 0"] = 0.0
    elif step == "new activation":
        ACT2FN["of the user"] = torch.atan
        layer.act_fn["adapter 0"] = "of the user"
    elif step == "activation":
        layer.act_fn["adapter 0"] = "silu"
    elif step == "weights":
        for module in (layer.peanut_A, layer.peanut_B, layer.peanut_encoders, layer.peanut_decoders):
            for item in module["adapter 0"].parameters():
                item.mul_(0.8).add_(0.1)
    elif step == "deeper":
        _deepen(layer)
    elif step == "base":
        base.weight.mul_(0.7).add_(0.2)


def _deepen(layer):
    """Replace the adapter by one with one more encoder and decoder, whose weights follow from the input projection."""
    from peft.tuners.peanut.config import PeanutConfig

    a = layer.peanut_A["adapter 0"].weight.detach().clone()
    width = len(a)
    config = PeanutConfig(layer.depth["adapter 0"] + 1, "silu", 0.8, False)
    layer.update_layer("adapter 0", width, config)
    modules = [layer.peanut_B["adapter 0"], *layer.peanut_encoders["adapter 0"], *layer.peanut_decoders["adapter 0"]]
    layer.peanut_A["adapter 0"].to(a.dtype).weight.copy_(a.flip(1))
    for number, module in enumerate(modules):
        module.to(a.dtype)
        rows, columns = module.weight.shape
        module.weight.copy_(a.flatten()[(torch.arange(rows * columns) + number) % a.numel()].view(rows, columns))
