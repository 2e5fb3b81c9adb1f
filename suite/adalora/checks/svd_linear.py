"""svd_linear: outputs, gradients, merging and undoing it, over storage, ranks, dropout, shapes; then the experiment."""

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape, dtype=torch.float32):
        return torch.randn(shape, generator=generator, dtype=dtype)

    def case(name, shape=(5,), sizes=(6, 4), r=3, ranknum=None, dtype=torch.float32, zeros=0, **options):
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
    yield case("square", sizes=(4, 4), r=2)
    yield case("stored transposed", fan_in_fan_out=True)
    yield case("stored transposed and square", sizes=(4, 4), fan_in_fan_out=True, shape=(2, 2))
    yield case("without bias", bias=False)
    yield case("without alpha", config={"alpha": 0.0}, r=4, ranknum=7)
    yield case("some values are zero", zeros=2, r=4)
    yield case("as many as at the start", ranknum=3)
    yield case("a single triplet, one of one", r=1, ranknum=1)
    yield case("double precision", dtype=torch.float64, ranknum=9)
    yield case("double precision, transposed", dtype=torch.float64, fan_in_fan_out=True, sizes=(3, 8), r=1, ranknum=1)
    yield case("a rank number of zero", dtype=torch.float64, ranknum=0)
    yield case("dropout", shape=(40,), config={"dropout": 0.4})
    yield case("dropout, transposed", shape=(6, 7), config={"dropout": 0.25}, fan_in_fan_out=True)
    yield case("never merged", config={"merge_weights": False, "dropout": 0.3})
    yield case("no increment", r=0)
    yield case("no increment, transposed", r=0, fan_in_fan_out=True, config={"dropout": 0.5})
    yield case("larger than its input", r=8, sizes=(3, 2), ranknum=12)
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
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
    before = {name: value.detach().clone() for name, value in layer.state_dict().items()}
    x = case["x"].clone().requires_grad_()
    torch.manual_seed(3)
    output = layer(x)
    output.backward(case["upstream"])
    observed = {
        "output": output.detach(),
        "gradients": {name: value.grad for name, value in layer.named_parameters()},
        "input_gradient": x.grad,
        "input": x.detach(),
        "unchanged": all(torch.equal(value, before[name]) for name, value in layer.state_dict().items()),
    }
    if layer.r > 0:
        update = layer.update_weight()
        observed["update"] = update.detach()
        observed["update_gradients"] = torch.autograd.grad(update.sum(), [layer.lora_A, layer.lora_E, layer.lora_B])
    layer.eval()
    observed["evaluated"] = layer(case["x"]).detach()
    observed["merged"] = [layer.merged, layer.weight.detach().clone()]
    layer.train()
    layer.eval()
    layer.train()
    observed["restored"] = layer.weight.detach()
    return observed
