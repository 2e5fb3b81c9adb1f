"""Indices, scales, factors and gradients of Uni-LoRA over models, seeds, adapters and dtypes; then the experiment."""

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def model(
        name, layers=3, adapters=1, length=None, r=None, fan=False, sizes=None, targets=None, dtype="float32", **more
    ):
        sizes = sizes or [(integer(2, 6), integer(2, 6)) for _ in range(layers)]
        given = []
        for number in range(adapters):
            d = length if number == 0 and length else integer(5, 12)
            given.append(
                {
                    "r": r or integer(1, 3),
                    "proj_seed": integer(0, 9999),
                    "theta_d_length": d,
                    "vector": normal(d),
                    "targets": targets[number] if targets else list(range(len(sizes))),
                }
            )
        return {
            "name": name,
            "sizes": sizes,
            "adapters": given,
            "fan": fan,
            "dtype": dtype,
            "wave": integer(0, 9999),
            "steps": [],
            **more,
        }

    for dtype in ("float32", "float64"):
        for layers in (1, 2, 4):
            yield model(f"{layers} layers, {dtype}", layers, dtype=dtype, length=integer(6, 15))
        yield model(f"two adapters, {dtype}", 3, 2, dtype=dtype)
        yield model(f"inputs first, {dtype}", 2, fan=True, dtype=dtype)
    yield model("one entry", length=1)
    yield model("two entries", length=2, layers=2)
    yield model("as long as there are parameters", sizes=[(3, 4), (2, 5)], r=2, length=28)
    yield model("longer than there are parameters", 2, r=1, length=integer(40, 60))
    yield model("much longer", 1, r=1, length=200, dtype="float64")
    yield model("a length that divides", sizes=[(3, 3), (6, 4)], r=2, length=8)
    yield model("square layers", sizes=[(4, 4), (4, 4)], r=integer(2, 3))
    yield model("all sizes alike", sizes=[(3, 3), (3, 3), (3, 3)], r=3)
    yield model("rank one", r=1)
    yield model("a rank above the sizes", sizes=[(2, 3), (3, 2)], r=5)
    yield model("some layers", 4, targets=[[1, 3]])
    yield model("adapters of other layers", 4, 2, targets=[[0, 2], [1, 2, 3]])
    yield model("adapters of no common layer", 3, 2, targets=[[2], [0, 1]], dtype="float64")
    yield model("three adapters", 3, 3, targets=[[0, 1], [1, 2], [0, 2]])
    yield model("another seed", 3, 2, steps=["seed", "seed"])
    yield model("another length", 2, 1, length=7, steps=["length"])
    yield model("the same again", 2, 2, steps=["again"])
    yield model("another vector", 2, steps=["vector"])
    yield model("nested layers", 3, nested=True)
    yield model("merged", 2, steps=["merge"])
    yield model("evaluation", 2, steps=["eval"])
    yield {"name": "experiment", "seed": seed % 1000}
    for length in (1, 2):
        sizes = [(integer(90, 120), integer(60, 80)), (integer(60, 80), integer(90, 120))]
        yield model(f"large groups, {length}", sizes=sizes, r=length, length=length)

    yield model("an adapter that no layer has", 2, 2, targets=[[0, 1], []], edge=True)
    yield model("half precision", 2, dtype="bfloat16", edge=True)
    yield model("half precision, two adapters", 2, 2, dtype="bfloat16", edge=True)
    for length in (1, 2):
        # Sizes of groups that bfloat16 does not hold, with roots that round to another scale.
        size = (259, 263, 267, 271, 281, 287)[integer(0, 5)]
        parts = [integer(100, 150) for _ in range(length)]
        given = model("", sizes=[(part, size - part) for part in parts], r=1, length=length, dtype="bfloat16")
        yield given | {"name": f"half precision, large groups, {length}", "edge": True}
    for step in ("merge", "disable", "eval", "freeze"):
        steps = [step, "seed", "add"]
        yield model(f"{step}, then a new adapter", 2, 2, targets=[[0], [0, 1]], steps=steps, first=1, edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from transformers.pytorch_utils import Conv1D

    dtype = getattr(torch, case["dtype"])
    kind = (lambda inputs, outputs: Conv1D(outputs, inputs)) if case["fan"] else torch.nn.Linear
    torch.manual_seed(case["wave"])
    modules = {f"layer {number}": kind(*sizes) for number, sizes in enumerate(case["sizes"])}
    network = torch.nn.ModuleDict(modules)
    if case.get("nested"):
        last = network.pop("layer 1")
        network = torch.nn.ModuleDict({"block": torch.nn.ModuleDict({"layer 1": last}), **network})
    network.to(dtype).requires_grad_(False)
    model, names = None, []
    for number in range(case.get("first", len(case["adapters"]))):
        model = _with_adapter(model, network, names, case, number)
    results, scales, wide, facts = [], [], [], []
    for step in ("", *case["steps"]):
        state = torch.random.get_rng_state()
        with torch.no_grad():
            if step == "add":
                _with_adapter(model, network, names, case, case["first"])
            _changed(model, names, step)
        facts.append(torch.equal(state, torch.random.get_rng_state()))
        _look(model, names, case, results, scales, wide, facts)
    if case["dtype"] == "bfloat16":
        results = [bool(item.isfinite().all()) for item in results]
    return {
        "double" if case["dtype"] == "float64" else "single": results,
        "scales": scales,
        "wide": wide,
        "facts": facts,
    }


def _with_adapter(model, network, names, case, number):
    """Add an adapter to a model, or make the model with its first one; return it."""
    from peft.tuners.unilora import UniLoraConfig, UniLoraModel

    given, name = case["adapters"][number], f"adapter {number}"
    names.append(name)
    settings = {key: given[key] for key in ("r", "proj_seed", "theta_d_length")}
    targets = [f"layer {place}" for place in given["targets"]]
    config = UniLoraConfig(target_modules=targets, fan_in_fan_out=case["fan"], **settings)
    if model is None:
        model = UniLoraModel(network, config, name)
    else:
        model.add_adapter(name, config)
    with torch.no_grad():
        model.unilora_theta_d[name].copy_(given["vector"])
    model.to(getattr(torch, case["dtype"]))
    for vector in model.unilora_theta_d.values():
        vector.requires_grad_(True)
    return model


def _changed(model, names, step):
    """Do one step between calls."""
    from peft.tuners.unilora import UniLoraLayer

    name = names[0]
    if step == "seed":
        model.peft_config[name].proj_seed += 7
    elif step == "length":
        model.peft_config[name].theta_d_length += 3
        old = model.unilora_theta_d[name]
        model.unilora_theta_d[name] = torch.nn.Parameter(torch.cat([old, old[:3] + 1.0]))
    elif step == "vector":
        model.unilora_theta_d[name].mul_(-1.5).add_(0.2)
    elif step == "merge":
        for layer in model.modules():
            if isinstance(layer, UniLoraLayer):
                layer.merge()
    elif step == "eval":
        model.eval()
    elif step == "disable":
        for layer in model.modules():
            if isinstance(layer, UniLoraLayer):
                layer.enable_adapters(False)
    elif step == "freeze":
        model.requires_grad_(False)
    if step in ("seed", "length", "again"):
        model._assign_unilora_indices_and_scales(name)


def _look(model, names, case, results, scales_found, wide, facts):
    """Add what layers hold and return for each adapter."""
    for name in names:
        vector = model.unilora_theta_d[name]
        kept = vector.detach().clone()
        config = model.peft_config[name]
        facts.append([config.r, config.proj_seed, config.theta_d_length, config.fan_in_fan_out])
        parts = []
        for layer in model._iter_unilora_layers():
            results.append(layer.get_base_layer().weight.detach().double())
            facts.append([sorted(layer.unilora_indices_A), sorted(layer.unilora_scales_B), dict(layer.r)])
            if name not in layer.r:
                continue
            for indices, scales in (
                (layer.unilora_indices_A[name], layer.unilora_scales_A[name]),
                (layer.unilora_indices_B[name], layer.unilora_scales_B[name]),
            ):
                facts.append(
                    [str(indices.dtype), indices.tolist(), indices.untyped_storage().nbytes() == 8 * indices.numel()]
                )
                facts.append([str(scales.dtype), list(scales.shape), scales.requires_grad])
                scales_found.append(scales.double())
            # In double precision, factors are compared for other scales, as those of the layer are rounded to float32.
            originals = layer.unilora_scales_A[name], layer.unilora_scales_B[name]
            if case["dtype"] != "float32":
                generator = torch.Generator().manual_seed(case["wave"])
                for table in (layer.unilora_scales_A, layer.unilora_scales_B):
                    drawn = torch.randn(table[name].shape, generator=generator, dtype=torch.float64)
                    table[name] = drawn.to(table[name].dtype)
            found, widened = layer._get_lora_matrices(name), layer._get_lora_matrices(name, cast_to_fp32=True)
            facts.append([[str(item.dtype), list(item.shape), item.requires_grad] for item in (*found, *widened)])
            wide += [item.detach().double() for item in widened]
            results += [item.detach().double() for item in (*found, layer.get_delta_weight(name))]
            parts += found
            layer.unilora_scales_A[name], layer.unilora_scales_B[name] = originals
        if parts and vector.requires_grad:
            state = torch.random.get_rng_state()
            torch.manual_seed(case["wave"] + 1)
            total = sum((part * torch.randn(part.shape).to(part.dtype)).sum() for part in parts)
            torch.random.set_rng_state(state)
            (slope,) = torch.autograd.grad(total, vector)
            facts.append(str(slope.dtype))
            results.append(slope.double())
        facts += [torch.equal(kept, vector.detach()), vector.requires_grad, str(vector.dtype)]
    facts.append(sorted(model.peft_config))
    facts += [[module.training for module in model.modules()], sorted(model.state_dict())]
