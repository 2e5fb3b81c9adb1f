"""Train adapters of equal size on finer and finer grids towards an update of high rank."""

import json

import torch
from peft.tuners.gralora import GraloraConfig, Linear
from torch import nn

_INPUTS, _OUTPUTS, _ROWS, _STEPS, _RATE = 16, 12, 48, 60, 0.4


def _rank(matrix):
    """Return the exponential of the entropy of the singular values."""
    values = torch.linalg.svdvals(matrix)
    return torch.special.entr(values / values.sum()).sum().exp().item()


def run(seed: int = 0) -> dict[str, float]:
    """Return errors, ranks of the merged updates, and how far the merged layer is from the adapted one."""
    torch.manual_seed(seed)
    weight = nn.Linear(_INPUTS, _OUTPUTS).weight.detach()
    # Each of four groups of outputs depends on each of four groups of inputs in another way.
    outer, inner = torch.randn(_OUTPUTS, 4), torch.randn(4, _INPUTS)
    update = outer.repeat_interleave(_INPUTS // 4, dim=1) * inner.repeat_interleave(_OUTPUTS // 4, dim=0) / _INPUTS**0.5
    x = torch.randn(_ROWS, _INPUTS)
    # One input channel is far larger than the others.
    x[:, 3] *= 2
    wanted = x @ update.T
    results = {}
    for blocks, hybrid in ((1, 0), (2, 0), (4, 0), (2, 2)):
        torch.manual_seed(seed + 1)
        base = nn.Linear(_INPUTS, _OUTPUTS).requires_grad_(False)
        base.weight.copy_(weight)
        config = GraloraConfig(r=4 - hybrid, hybrid_r=hybrid, alpha=4, gralora_k=blocks)
        layer = Linear(base, "a", "layer", config, r=config.r)
        plain = base(x)
        name = f"{blocks} blocks{', hybrid' if hybrid else ''}"
        parameters = [item for item in layer.parameters() if item.requires_grad]
        for step in range(_STEPS):
            error = (layer(x) - plain - wanted).square().mean() / wanted.square().mean()
            slopes = torch.autograd.grad(error, parameters)
            norm = torch.stack([slope.square().sum() for slope in slopes]).sum().sqrt()
            with torch.no_grad():
                for parameter, slope in zip(parameters, slopes, strict=True):
                    parameter.sub_(_RATE * (1 - step / _STEPS) * slope / (norm + 1e-3))
        with torch.no_grad():
            adapted = layer(x)
            results[f"{name}/left"] = ((adapted - plain - wanted).square().mean() / wanted.square().mean()).item()
            layer.merge()
            results[f"{name}/merged"] = (layer(x) - adapted).abs().max().item()
            results[f"{name}/rank"] = _rank(base.weight - weight)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
