"""Does a budget that moves between layers go further than the same budget spread evenly?"""

import json

import torch

from loralib.adalora import SVDLinear
from loralib.allocator import BudgetSchedule
from loralib.layers import IncrementConfig
from model import ResidualNetwork
from training import FineTuning, fine_tune

WIDTH, DEPTH, BUDGET = 12, 4, 4


def run(seed: int = 0) -> dict[str, float]:
    """Losses before fine-tuning, with even ranks and with adaptive ones of the same total; the ranks that were kept."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(96, WIDTH, generator=generator, dtype=torch.float64)
    frozen = torch.randn(DEPTH, WIDTH, WIDTH, generator=generator, dtype=torch.float64) / WIDTH**0.5
    change = torch.randn(2, 3, WIDTH, generator=generator, dtype=torch.float64) / WIDTH**0.5
    truth = _network(frozen, IncrementConfig(r=0), seed)
    with torch.no_grad():
        # All that is new lies in the last layer, whose weight is stored transposed, and has rank three.
        truth.blocks[-1].weight += 3 * (change[0].T @ change[1]).T
        targets = truth(inputs)
        before = (_network(frozen, IncrementConfig(r=0), seed)(inputs) - targets).square().mean().item()
    even = _network(frozen, IncrementConfig(r=BUDGET // DEPTH, alpha=4.0), seed)
    adaptive = _network(frozen, IncrementConfig(r=3, alpha=4.0), seed)
    args = FineTuning()
    schedule = BudgetSchedule(initial=3 * DEPTH, final=BUDGET, warm_up=16, cool_down=16, total=args.steps)
    metrics = {
        "before": before,
        "even": fine_tune(even, inputs, targets, args, None),
        "adaptive": fine_tune(adaptive, inputs, targets, args, schedule),
    }
    ranks = {f"rank of layer {number}": float(block.r) for number, block in enumerate(adaptive.blocks)}
    return metrics | ranks


def _network(frozen: torch.Tensor, config: IncrementConfig, seed: int) -> ResidualNetwork:
    """A network with these frozen weights."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = ResidualNetwork(WIDTH, DEPTH, config).double()
    for block, weight in zip(model.blocks, frozen, strict=True):
        assert isinstance(block, SVDLinear)
        block.weight.data = weight.T.contiguous() if block.fan_in_fan_out else weight.clone()
        block.bias.requires_grad_(False).zero_()
    return model


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
