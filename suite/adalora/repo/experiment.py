"""A budget of ranks that moves between layers, beside the same budget spread evenly."""

import json

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from loralib.adalora import SVDLinear, orthogonality
from loralib.allocator import BudgetSchedule, RankAllocator
from loralib.layers import IncrementConfig
from model import ResidualNetwork
from training import FineTuning, fine_tune

WIDTH, DEPTH, BUDGET = 12, 4, 4


def moments(values: Tensor) -> dict[str, float]:
    """The mean, the mean square, and a mean whose weights grow with the place."""
    values = values.double().flatten()
    places = torch.linspace(0, 1, len(values), dtype=torch.float64)
    return {
        "mean": values.mean().item(),
        "square": values.square().mean().item(),
        "by place": (places * values).mean().item(),
    }


def described(**groups: Tensor) -> dict[str, float]:
    """The moments of several groups of numbers."""
    return {f"{name}/{key}": value for name, values in groups.items() for key, value in moments(values).items()}


def untrained(model: ResidualNetwork, inputs: Tensor, targets: Tensor) -> dict[str, float]:
    """Vectors, regulariser, and the gradient of the singular values before fine-tuning."""
    right = torch.cat([block.lora_A.flatten() for block in model.blocks])
    left = torch.cat([block.lora_B.flatten() for block in model.blocks])
    regulariser = orthogonality(model)
    F.mse_loss(model(inputs), targets).backward()
    gradients = torch.cat([block.lora_E.grad.flatten() for block in model.blocks])
    model.zero_grad()
    squares = {"right/square": right.square().mean().item(), "left/square": left.square().mean().item()}
    return squares | {"orthogonality": regulariser.item()} | described(gradients=gradients)


def moved(model: ResidualNetwork, frozen: Tensor) -> dict[str, float]:
    """How far fine-tuning has moved the weight of each layer, whose increment is merged."""
    weights = [block.weight.T if block.fan_in_fan_out else block.weight for block in model.blocks]
    return {f"layer {number}": (weight - frozen[number]).norm().item() for number, weight in enumerate(weights)}


def importance(model: ResidualNetwork, inputs: Tensor, targets: Tensor, schedule: BudgetSchedule) -> dict[str, float]:
    """Logarithms of the importance of each layer after a few batches, relative to their mean."""
    model.train()
    allocator = RankAllocator(model, schedule)
    scores: list[Tensor] = []
    for rows in torch.arange(len(inputs)).chunk(6):
        model.zero_grad()
        F.mse_loss(model(inputs[rows]), targets[rows]).backward()
        with torch.no_grad():
            scores = [allocator._triplet_scores(layer).sum() for layer in allocator.layers]
    logarithms = torch.stack(scores).log()
    return {f"layer {number}": value for number, value in enumerate((logarithms - logarithms.mean()).tolist())}


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """The metrics of each stage: of data, increments, fine-tuning with even ranks, importance, and adaptive ranks."""
    inputs, unseen = (_inputs(Generator().manual_seed(number)) for number in (seed, seed + 2**22))
    generator = Generator().manual_seed(seed + 2**20)
    frozen = torch.randn(DEPTH, WIDTH, WIDTH, generator=generator, dtype=torch.float64) / WIDTH**0.5
    generator = Generator().manual_seed(seed + 2**21)
    change = torch.randn(2, 3, WIDTH, generator=generator, dtype=torch.float64) / WIDTH**0.5
    truth, before = (_network(frozen, IncrementConfig(r=0), seed) for _ in range(2))
    with torch.no_grad():
        # All that is new lies in the last layer, whose weight is stored transposed, and has rank three.
        truth.blocks[-1].weight += 3 * (change[0].T @ change[1]).T
        targets, unseen_targets = truth(inputs), truth(unseen)
        loss = {"loss": F.mse_loss(before(inputs), targets).item()}
    stages = {"data": described(inputs=inputs, frozen=frozen, change=change, targets=targets) | loss}
    even = _network(frozen, IncrementConfig(r=BUDGET // DEPTH, alpha=4.0), seed)
    adaptive = _network(frozen, IncrementConfig(r=3, alpha=4.0), seed)
    models = {"even": even, "adaptive": adaptive}
    stages["increments"] = {
        f"{name}/{key}": value
        for name, model in models.items()
        for key, value in untrained(model, inputs, targets).items()
    }
    args = FineTuning()
    schedule = BudgetSchedule(initial=3 * DEPTH, final=BUDGET, warm_up=10, cool_down=8, total=args.steps)
    loss = fine_tune(even, inputs, targets, args, None)
    stages["even ranks"] = {"loss": loss, "orthogonality": orthogonality(even).item()} | moved(even, frozen)
    stages["importance"] = importance(even, inputs, targets, schedule)
    loss = fine_tune(adaptive, inputs, targets, args, schedule)
    stages["adaptive ranks"] = {"loss": loss, "orthogonality": orthogonality(adaptive).item()}
    stages["adaptive ranks"] |= moved(adaptive, frozen)
    with torch.no_grad():
        errors = {
            name: F.mse_loss(model.eval()(unseen), unseen_targets).item()
            for name, model in {"before": before, **models}.items()
        }
    stages["evaluation"] = errors
    stages["rates"] = {f"rank of layer {number}": float(block.r) for number, block in enumerate(adaptive.blocks)}
    return stages


def _inputs(generator: Generator) -> Tensor:
    return torch.randn(96, WIDTH, generator=generator, dtype=torch.float64)


def _network(frozen: Tensor, config: IncrementConfig, seed: int) -> ResidualNetwork:
    """A network with these frozen weights."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = ResidualNetwork(WIDTH, DEPTH, config).double()
    for block, weight in zip(model.blocks, frozen, strict=True):
        assert isinstance(block, SVDLinear)
        stored = weight.T if block.fan_in_fan_out else weight
        block.weight.data = stored.clone(memory_format=torch.contiguous_format)
        block.bias.requires_grad_(False).zero_()
    return model


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
