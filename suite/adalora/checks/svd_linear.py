"""svd_linear: outputs, gradients, merging and undoing it, over storage, ranks, dropout, shapes; then the experiment."""

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape, dtype):
        return torch.randn(shape, generator=generator, dtype=dtype)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def one_of(*values):
        return values[torch.randint(len(values), (), generator=generator).item()]

    def case(name, shape=(5,), sizes=(6, 4), r=3, ranknum=None, dtype=torch.float64, zeros=0, edge=False, **options):
        ins, outs = sizes
        values = draw(r, 1, dtype=dtype)
        values[:zeros] = 0
        given = {name: options.pop(name) for name in ("bias", "fan_in_fan_out") if name in options}
        config = {"r": r, "alpha": uniform(1, 9), "dropout": 0.0, "merge_weights": True, **options}
        return {
            "name": name,
            "edge": edge,
            "sizes": sizes,
            "config": config,
            "options": given,
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
    yield case("stored transposed", fan_in_fan_out=True)
    yield case("stored transposed and square", sizes=(4, 4), fan_in_fan_out=True, shape=(2, 2))
    yield case("without bias", bias=False)
    yield case("stored transposed, without bias", bias=False, fan_in_fan_out=True)
    yield case("without alpha", alpha=0.0, r=4, ranknum=7)
    yield case("alpha is the rank", alpha=3.0, fan_in_fan_out=True)
    yield case("a small alpha", alpha=0.03)
    yield case("a large alpha", alpha=uniform(500, 900), ranknum=64)
    yield case("some values are zero", zeros=2, r=4)
    yield case("all values are zero", zeros=3)
    yield case("as many as at the start", ranknum=3)
    yield case("a single triplet, one of one", r=1, ranknum=1)
    yield case("a single triplet, transposed", fan_in_fan_out=True, sizes=(3, 8), r=1, ranknum=1)
    yield case("one input and one output", sizes=(1, 1), r=1, ranknum=4)
    yield case("larger than its input", r=8, sizes=(3, 2), ranknum=12)
    yield case("dropout", shape=(40,), dropout=0.4)
    yield case("dropout, transposed", shape=(6, 7), dropout=0.25, fan_in_fan_out=True)
    yield case("never merged", merge_weights=False, dropout=0.3)
    yield case("no increment", r=0)
    yield case("no increment, transposed", r=0, fan_in_fan_out=True, dropout=0.5)
    for number in range(12):
        dtype = (torch.float64, torch.float32)[number % 2]
        options = {"fan_in_fan_out": one_of(False, True), "bias": one_of(False, True), "dropout": one_of(0.0, 0.35)}
        options |= {
            "merge_weights": one_of(False, True),
            "r": one_of(1, 2, 5),
            "shape": one_of((7,), (2, 4), (3, 1, 2)),
        }
        sizes, ranknum = one_of((5, 5), (3, 6), (7, 4)), one_of(2, 5, 9)
        yield case(f"combination {number}, {dtype}", sizes=sizes, ranknum=ranknum, dtype=dtype, **options)
    yield {"name": "experiment", "seed": seed % 1000}

    yield case("an empty batch", shape=(2, 0), edge=True)
    for transposed in (False, True):
        given = case(f"not contiguous, {transposed}", shape=(4, 3), fan_in_fan_out=transposed, edge=True)
        yield given | {"x": given["x"].transpose(0, 1), "upstream": given["upstream"].transpose(0, 1)}
    for dtype in (torch.bfloat16, torch.float16):
        for transposed in (False, True):
            yield case(f"{dtype}, transposed {transposed}", dtype=dtype, fan_in_fan_out=transposed, edge=True)
    for transposed in (False, True):
        for dropout in (0.0, 0.3):
            name = f"changed between calls, transposed {transposed}, dropout {dropout}"
            yield case(name, fan_in_fan_out=transposed, dropout=dropout, edge=True) | {"changed": True}


def observe(case):
    if "seed" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    layer, dtype = layer_of(case), case["x"].dtype
    before = {name: value.detach().clone() for name, value in layer.state_dict().items()}
    x = case["x"].clone().requires_grad_()
    torch.manual_seed(3)
    output = layer(x)
    (output * case["upstream"]).sum().backward()
    update = layer.update_weight() if layer.r > 0 else layer.weight
    observed = {}
    if case["edge"]:
        unchanged = [torch.equal(value, before[name]) for name, value in layer.state_dict().items()]
        observed["unchanged"] = [*unchanged, torch.equal(x, case["x"])]
    if dtype.itemsize < 4:
        observed["facts"] = [[str(item.dtype), list(item.shape), item.isfinite().all()] for item in (output, update)]
        return observed
    observed |= {"output": output.detach(), "update": update.detach()}
    observed["gradients"] = [x.grad, *(value.grad for value in layer.parameters())]
    if layer.r > 0:
        observed["update_gradients"] = torch.autograd.grad(update.sum(), [layer.lora_A, layer.lora_E, layer.lora_B])
    observed |= changed(layer, case["x"]) if "changed" in case else merged(layer, case)
    # Double precision is compared as such.
    return {"exact" if dtype == torch.float64 else "single": observed}


def layer_of(case):
    """A layer in training mode with the weights of the case."""
    from loralib.adalora import SVDLinear
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
    return layer


def merged(layer, case):
    """The layer in evaluation, back in training, and without the triplets that are zero."""
    from loralib.allocator import compact

    layer.eval()
    x = case["x"].clone().requires_grad_()
    evaluated = layer(x)
    observed = {"evaluated": evaluated.detach(), "weight": layer.weight.detach().clone()}
    observed["evaluated_gradient"] = torch.autograd.grad((evaluated * case["upstream"]).sum(), x)
    observed["restored"] = layer.train().weight.detach().clone()
    compact(layer)
    return observed | {"compacted": layer.eval()(case["x"]).detach()}


def changed(layer, x):
    """What calls give after all that an increment is made of has changed, in both modes."""
    found = []
    with torch.no_grad():
        for factor in (1.0, 2.3):
            layer.lora_A.add_(0.5)
            layer.lora_E.mul_(-1.5)
            layer.lora_B.sub_(0.25)
            layer.weight.mul_(0.5)
            layer.ranknum.add_(1)
            layer.scaling *= factor
            found.append(layer.update_weight())
            for dropout in (torch.nn.Dropout(0.5), torch.nn.Identity()):
                layer.lora_dropout = dropout
                # An increment may be merged in training, and not merged in evaluation.
                for merge in (False, True):
                    layer.merge_weights = merge
                    layer.eval()
                    found.append(layer(x))
                    layer.merge_weights = False
                    torch.manual_seed(5)
                    found.append(layer.train()(x))
                    layer.merge_weights = merge
                    layer.train()
    return {"changed": found}
