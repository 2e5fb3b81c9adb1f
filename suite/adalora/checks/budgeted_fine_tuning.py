"""Increments and their regulariser, the schedule, cuts, compaction, fine-tuning. In double precision throughout."""

from contextlib import contextmanager

import torch

# Inputs, outputs, triplets and the way of storing the weight, of layers that share a budget.
LAYERS = ((3, 12, 3, False), (7, 4, 1, True), (5, 2, 0, False), (2, 5, 4, True))


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    for kind in ("plain", "merged", "no increment", "compact", "activation"):
        for transposed in (False, True):
            options = {"kind": kind, "transposed": transposed, "bias": transposed or kind != "plain"}
            x = torch.randn(2, 3, 5, generator=generator, dtype=torch.float64)
            options |= {"x": x, "alpha": uniform(0.5, 3), "seed": seed % 1000}
            yield {"name": f"{kind}, transposed {transposed}", "part": "layered", **options}
    yield {"name": "orthogonality", "part": "regularised", "seed": seed % 1000}
    for number in range(3):
        warm_up, middle, cool_down = (int(torch.randint(1, 12, (), generator=generator)) for _ in range(3))
        schedule = [60 - 13 * number, 7, warm_up, cool_down, warm_up + middle + cool_down]
        yield {"name": f"schedule {number}", "part": "scheduled", "schedule": schedule}
    for number in range(8):
        # At most eight triplets; warm-up, cool-down, all steps, interval.
        schedule = [8 - number % 3, 1 + number % 6, number % 4, 1 + number % 3, 9, 2 + number % 2]
        betas = [uniform(0.3, 0.9), uniform(0.3, 0.9)]
        yield {
            "name": f"cuts {number}",
            "part": "cut",
            "seed": seed % 1000 + number,
            "schedule": schedule,
            "betas": betas,
        }
    yield {"name": "compaction", "part": "compacted", "seed": seed % 1000}
    for number, (steps, schedule) in enumerate(
        ((1, None), (5, None), (7, [6, 3, 2, 2, 7, 2]), (6, [6, 2, 1, 2, 6, 3]))
    ):
        args = {
            "steps": steps,
            "learning_rate": uniform(0.01, 0.1),
            "gamma": uniform(0.02, 0.3),
            "batch_size": 5 + number,
        }
        case = {
            "part": "tuned",
            "seed": seed % 1000 + number,
            "args": args,
            "schedule": schedule,
            "training": number != 1,
        }
        yield {"name": f"fine-tuning {number}", **case}


@contextmanager
def double_precision():
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)


def observe(case):
    with double_precision():
        return PARTS[case["part"]](case)


def layer_of(inputs, outputs, r, transposed, alpha=1.5, bias=True):
    """A layer with an increment that is not zero."""
    from loralib.adalora import SVDLinear
    from loralib.layers import IncrementConfig

    layer = SVDLinear(inputs, outputs, IncrementConfig(r=r, alpha=alpha), bias, transposed)
    if r:
        torch.nn.init.normal_(layer.lora_E)
    return layer


def parts_of(layer):
    return [layer.lora_A, layer.lora_E, layer.lora_B]


def layered(case):
    torch.manual_seed(case["seed"])
    kind, x = case["kind"], case["x"].clone().requires_grad_()
    r = 0 if kind == "no increment" else 3
    layer = layer_of(5, 4, r, case["transposed"], case["alpha"], case["bias"])
    if kind == "compact":
        # As if four triplets more had been cut.
        layer.ranknum.data += 4
    if kind == "activation":
        layer.lora_dropout = torch.nn.Softsign()
    if kind == "merged":
        layer.eval()
    weight = layer.weight.clone()
    output = layer(x)
    inputs = [x, *(parts_of(layer) if r else [])]
    found = {
        "output": output,
        "gradients": gradients_of(output, inputs),
        "weight": [layer.weight, layer.weight == weight],
    }
    if r:
        increment = layer.update_weight()
        found |= {"increment": increment, "its gradients": gradients_of(increment, parts_of(layer))}
    return found


def gradients_of(output, inputs):
    weighted = (output * torch.linspace(-1, 2, output.numel()).view(output.shape)).sum()
    return list(torch.autograd.grad(weighted, inputs, materialize_grads=True, allow_unused=True))


def several(seed):
    torch.manual_seed(seed)
    return torch.nn.ModuleList(layer_of(*shape) for shape in LAYERS)


def regularised(case):
    from loralib.adalora import orthogonality

    model = several(case["seed"])
    value = orthogonality(model)
    inputs = [part for layer in model if layer.r for part in (layer.lora_A, layer.lora_B)]
    return {"value": value, "gradients": gradients_of(value, inputs)}


def scheduled(case):
    from loralib.allocator import BudgetSchedule

    schedule = BudgetSchedule(*case["schedule"])
    first, last, warm_up, cool_down, total = case["schedule"]
    # Nobody says which way a half is rounded.
    halves = [
        abs((first - last) * (1 - (step - warm_up) / (total - cool_down - warm_up)) ** 3 % 1 - 0.5)
        for step in range(total)
    ]
    return {"budgets": [schedule.budget(step) for step in range(total) if halves[step] > 1e-6]}


def cut(case):
    from loralib.allocator import BudgetSchedule, RankAllocator

    model = several(case["seed"])
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    allocator = RankAllocator(model, BudgetSchedule(*case["schedule"]), *case["betas"])
    history = []
    for step in range(case["schedule"][4]):
        for parameter in parameters:
            parameter.grad = torch.randn(parameter.shape)
        for layer in model:
            if layer.r:
                # What was cut grows back a little.
                layer.lora_E.data += 0.3 * torch.randn(layer.lora_E.shape)
        allocator.step(step)
        history.append([layer.lora_E.detach().clone() for layer in model if layer.r])
    return {"values": history, "vectors": [layer.lora_A.detach() for layer in model if layer.r]}


def compacted(case):
    from loralib.allocator import compact

    model = several(case["seed"])
    with torch.no_grad():
        model[0].lora_E[1] = 0.0
        model[1].lora_E[:] = 0.0
        model[3].lora_E[0], model[3].lora_E[3] = 0.0, 0.0
    compact(model)
    x = torch.randn(4, 12)
    found = {
        "outputs": [layer(x[:, : layer.in_features]) for layer in model],
        "ranks": [int(layer.r) for layer in model],
    }
    tuned = [layer for layer in model if hasattr(layer, "ranknum")]
    found["shapes"] = [list(part.shape) for layer in tuned for part in parts_of(layer)]
    found["trained"] = [
        part.requires_grad and isinstance(part, torch.nn.Parameter)
        for layer in tuned
        if layer.r
        for part in parts_of(layer)
    ]
    return found | {"first ranks": [layer.ranknum.detach() for layer in tuned]}


def tuned(case):
    from loralib.adalora import orthogonality
    from loralib.allocator import BudgetSchedule
    from loralib.layers import IncrementConfig
    from model import ResidualNetwork
    from training import FineTuning, fine_tune

    torch.manual_seed(case["seed"])
    model = ResidualNetwork(4, 3, IncrementConfig(r=2, alpha=3.0))
    inputs, targets = torch.randn(17, 4), torch.randn(17, 4)
    model.train(case["training"])
    schedule = BudgetSchedule(*case["schedule"]) if case["schedule"] else None
    loss = fine_tune(model, inputs, targets, FineTuning(**case["args"]), schedule)
    found = {"loss": loss, "outputs": model(inputs), "orthogonality": orthogonality(model), "training": model.training}
    return found | {
        "ranks": [int(block.r) for block in model.blocks],
        "weights": [block.weight for block in model.blocks],
    }


PARTS = {part.__name__: part for part in (layered, regularised, scheduled, cut, compacted, tuned)}
