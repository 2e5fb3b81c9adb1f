"""How near tweakers of several depths bring a layer to one whose weight is a nonlinear function of its own."""

import json

import torch
from peft.tuners.peanut.config import PeanutConfig
from peft.tuners.peanut.layer import Linear
from torch import nn

_INPUTS, _OUTPUTS, _RANK, _ROWS, _STEPS, _RATE = 12, 8, 6, 40, 20, 0.05


def run(seed: int = 0) -> dict[str, float]:
    """Shares of the squared distance that are left, by depth and activation, and the effect of merging."""
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(_OUTPUTS, _INPUTS, generator=generator)
    turn = torch.randn(_OUTPUTS, _OUTPUTS, generator=generator) / _OUTPUTS**0.5
    x = torch.randn(_ROWS, _INPUTS, generator=generator)
    results = {}
    for name, depth, act_fn in (
        ("linear", 0, "linear"),
        ("no encoders", 0, "relu"),
        ("one encoder", 1, "relu"),
        ("two encoders", 2, "relu"),
        ("two encoders, tanh", 2, "tanh"),
    ):
        torch.manual_seed(seed)
        base = nn.Linear(_INPUTS, _OUTPUTS).requires_grad_(False)
        base.weight.copy_(weight)
        layer = Linear(base, "default", _RANK, PeanutConfig(depth=depth, act_fn=act_fn))
        wanted = x @ (weight + 0.5 * turn @ torch.relu(weight)).T + base.bias
        trained = [item for item in layer.parameters() if item.requires_grad]
        apart = (base(x) - wanted).square().sum()
        results[f"{name}/at the start"] = (layer(x) - base(x)).abs().max().item()
        for _ in range(_STEPS):
            left = (layer(x) - wanted).square().sum() / apart
            slopes = torch.autograd.grad(left, trained)
            norm = torch.stack([slope.norm() for slope in slopes]).norm()
            with torch.no_grad():
                for item, slope in zip(trained, slopes, strict=True):
                    item.sub_(_RATE * _RANK * slope / (norm + 0.1))
        results[f"{name}/left"] = left.item()
        with torch.no_grad():
            before = layer(x)
            layer.merge()
            results[f"{name}/change by merging"] = (layer(x) - before).abs().max().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
