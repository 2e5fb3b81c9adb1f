"""svd_linear: outputs, gradients, merging and undoing it, over storage, ranks, dropout, shapes; then the experiment."""

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape, dtype):
        return torch.randn(shape, generator=generator, dtype=dtype)

    def case(name, shape=(5,), sizes=(6, 4), r=3, ranknum=None, dtype=torch.float64, zeros=0, **options):
        ins, outs = sizes
        values = draw(r, 1, dtype=dtype)
        values[:zeros] = 0
        return {
            "name": name,
            "sizes": sizes,
            "config": {"r": r, "alpha": 5.0, "dropout": 0.0, "merge_weights": True, **options.pop("config", {})},
            "options": options,
            "x": draw(*shape, ins, dtype=dtype),
            "weight": draw(outs, ins, dtype=dtype),
            "bias": draw(outs, dtype=dtype),
            "A": draw(r, ins, dtype=dtype),
            "E": values,
            "B": draw(outs, r, dtype=dtype),
            "ranknum": float(r + 2 if ranknum is None else ranknum),
            "upstream": draw(*shape, outs, dtype=dtype),
        }

    yield case("a batch")
    yield case("one vector", shape=())
    yield case("sequences", shape=(2, 3), sizes=(5, 7))
    for shape in ((1,), (1, 3), (3, 1), (1, 1, 1)):
        yield case(f"inputs of shape {shape} by features", shape=shape)
    yield case("square", sizes=(4, 4), r=2)
    yield case("an empty batch", shape=(2, 0))
    yield case("stored transposed", fan_in_fan_out=True)
    yield case("stored transposed and square", sizes=(4, 4), fan_in_fan_out=True, shape=(2, 2))
    yield case("without bias", bias=False)
    yield case("stored transposed, without bias", bias=False, fan_in_fan_out=True)
    yield case("without alpha", config={"alpha": 0.0}, r=4, ranknum=7)
    yield case("alpha is the rank", config={"alpha": 3.0})
    yield case("alpha is the rank, transposed", config={"alpha": 3.0}, fan_in_fan_out=True)
    yield case("an alpha of one", config={"alpha": 1.0}, r=4)
    yield case("a small alpha", config={"alpha": 0.03})
    yield case("a large alpha", config={"alpha": 640.0}, ranknum=64)
    yield case("some values are zero", zeros=2, r=4)
    yield case("all values are zero", zeros=3)
    yield case("as many as at the start", ranknum=3)
    yield case("a single triplet, one of one", r=1, ranknum=1)
    yield case("a single triplet, transposed", fan_in_fan_out=True, sizes=(3, 8), r=1, ranknum=1)
    yield case("one input and one output", sizes=(1, 1), r=1, ranknum=4)
    yield case("a rank number of zero", ranknum=0)
    yield case("dropout", shape=(40,), config={"dropout": 0.4})
    yield case("dropout, transposed", shape=(6, 7), config={"dropout": 0.25}, fan_in_fan_out=True)
    yield case("never merged", config={"merge_weights": False, "dropout": 0.3})
    yield case("never merged, transposed", config={"merge_weights": False}, fan_in_fan_out=True)
    yield case("no increment", r=0)
    yield case("no increment, transposed", r=0, fan_in_fan_out=True, config={"dropout": 0.5})
    yield case("larger than its input", r=8, sizes=(3, 2), ranknum=12)
    given = case("inputs that are not contiguous", shape=(4, 3))
    yield {**given, "x": given["x"].transpose(0, 1), "upstream": given["upstream"].transpose(0, 1)}
    given = case("sums that almost cancel", shape=())
    given |= {"x": 1e6 * given["x"], "E": 1e-6 * given["E"]}
    yield {**given, "bias": -given["weight"] @ given["x"]}
    yield case("single precision", dtype=torch.float32)
    yield case("single precision, transposed", dtype=torch.float32, fan_in_fan_out=True, shape=(2, 3))
    for dtype in (torch.bfloat16, torch.float16):
        yield case(f"half precision, {dtype}", dtype=dtype, fan_in_fan_out=dtype == torch.float16)
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from loralib.adalora import SVDLinear
    from loralib.allocator import compact
    from loralib.layers import IncrementConfig

    layer = SVDLinear(*case["sizes"], IncrementConfig(**case["config"]), **case["options"]).to(case["x"].dtype)
    with torch.no_grad():
        layer.weight.copy_(case["weight"].T if layer.fan_in_fan_out else case["weight"])
        if layer.bias is not None:
            layer.bias.copy_(case["bias"])
        if layer.r > 0:
            layer.lora_A.copy_(case["A"])
            layer.lora_E.copy_(case["E"])
            layer.lora_B.copy_(case["B"])
            layer.ranknum.fill_(case["ranknum"])
    before = {name: value.detach().clone() for name, value in layer.state_dict().items()}
    settings = _settings(layer)
    x = case["x"].clone().requires_grad_()
    torch.manual_seed(3)
    output = layer(x)
    (output * case["upstream"]).sum().backward()
    update = layer.update_weight() if layer.r > 0 else layer.weight
    observed = {
        "next_draw": int(torch.randint(10**9, ())),
        "output": output.detach(),
        "gradients": {name: value.grad for name, value in layer.named_parameters()},
        "input_gradient": x.grad,
        "update": update.detach(),
        "unchanged": [torch.equal(value, before[name]) for name, value in layer.state_dict().items()],
        "input_unchanged": torch.equal(x, case["x"]),
        "settings": [settings, _settings(layer)],
    }
    if case["x"].dtype.itemsize < 4:
        facts = [[str(item.dtype), list(item.shape), item.isfinite().all().item()] for item in (output, update)]
        return {"facts": facts, "unchanged": observed["unchanged"], "settings": observed["settings"]}
    if layer.r > 0:
        observed["update_gradients"] = torch.autograd.grad(update.sum(), [layer.lora_A, layer.lora_E, layer.lora_B])
    # Double precision is compared as such.
    precision = "exact" if case["x"].dtype == torch.float64 else "single"
    layer.eval()
    again = case["x"].clone().requires_grad_()
    evaluated = layer(again)
    observed["evaluated"] = evaluated.detach()
    observed["evaluated_gradient"] = torch.autograd.grad((evaluated * case["upstream"]).sum(), again)
    observed["merged"] = [layer.merged, layer.weight.detach().clone()]
    layer.train()
    observed["restored"] = layer.weight.detach().clone()
    if layer.r > 0:
        # All that an increment is made of may change between calls.
        with torch.no_grad():
            layer.lora_A.add_(0.5)
            layer.lora_E.mul_(-1.5)
            layer.lora_B.sub_(0.25)
            layer.weight.mul_(0.5)
            layer.ranknum.add_(1)
        layer.scaling *= 2.3
        observed["changed"] = [layer.update_weight().detach()]
        # The layer's mode and whether the increment is merged need not go together.
        merge, other = layer.merge_weights, case["x"].flip(-1).contiguous()
        for module in (torch.nn.Dropout(0.5), torch.nn.Identity()):
            layer.lora_dropout = module
            layer.merge_weights = False
            for mode in (True, False):
                layer.train(mode)
                torch.manual_seed(5)
                observed["changed"].append(layer(other).detach())
            with torch.no_grad():
                for factor in (1.0, 0.5):
                    layer.scaling *= factor
                    observed["changed"].append(layer(other))
                # Nothing of a tensor tells that its data were changed. Where they are single, rounding adds up.
                for item in (layer.lora_A, layer.lora_E, layer.lora_B, layer.weight, layer.ranknum):
                    if precision == "exact":
                        item.data.mul_(0.75)
                        observed["changed"].append(layer(other))
            layer.merge_weights = merge
            observed["changed"].append(layer.train().eval()(other).detach())
            layer.merge_weights = False
            observed["changed"].append(layer.train()(other).detach())
            layer.merge_weights = merge
            layer.train()
        plain, layer.lora_dropout = layer.lora_dropout, torch.nn.Dropout(0.5)
        layer.lora_dropout.register_forward_hook(lambda module, given, found: 1.5 * found)
        torch.manual_seed(6)
        observed["hooked"] = layer(other).detach()
        layer.lora_dropout = plain
        compact(layer)
        observed["compacted"] = [layer.r, layer(case["x"]).detach(), layer.eval()(case["x"]).detach()]
        # A layer of which no increment is left draws no random numbers.
        layer.lora_dropout = torch.nn.Dropout(0.5)
        torch.manual_seed(7)
        layer.train()(case["x"])
        observed["drawn_when_compacted"] = int(torch.randint(10**9, ()))
    return {precision: observed}


def _settings(layer):
    """All that the layer holds beside its parameters, by name; of modules only that they are there."""
    plain = {name: value if isinstance(value, int | float) else None for name, value in sorted(vars(layer).items())}
    return {**plain, "dropout": layer.lora_dropout.training}
