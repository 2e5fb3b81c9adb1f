"""How near do chains of reflections come to a layer whose inputs are turned, and what do they keep?"""

import json

import torch
from peft.tuners.hra import HRALinear
from torch import nn

_WIDTH, _STEPS, _RATE = 12, 12, 1.0


def _cosines(weight):
    rows = nn.functional.normalize(weight, dim=1)
    return rows @ rows.T


def run(seed: int = 0) -> dict[str, float]:
    """The share of the change that is not reached, by the length of the chain; angles; what unmerging restores."""
    torch.manual_seed(seed)
    weight = torch.randn(_WIDTH, _WIDTH)
    skew = 0.2 * torch.randn(_WIDTH, _WIDTH)
    turned = weight @ torch.matrix_exp(skew - skew.T)
    x = torch.randn(60, _WIDTH)
    results = {}
    for rank in (2, 6):
        for orthogonal in (False, True):
            torch.manual_seed(seed + 1)
            base = nn.Linear(_WIDTH, _WIDTH).requires_grad_(False)
            base.weight.copy_(weight)
            layer = HRALinear(base, "a", r=rank, apply_GS=orthogonal, init_weights=not orthogonal)
            wanted = x @ turned.T + base.bias
            name = f"{rank} {'orthogonal ' if orthogonal else ''}reflections"
            if not orthogonal:
                results[f"{name}/at the start"] = (layer(x) - base(x)).abs().max().item()
                # Directions that are alike in pairs would get the same gradients.
                with torch.no_grad():
                    layer.hra_u["a"].add_(0.1 * torch.randn(_WIDTH, rank))
            apart = (base(x) - wanted).square().sum()
            for _ in range(_STEPS):
                left = (layer(x) - wanted).square().sum() / apart
                (slope,) = torch.autograd.grad(left, layer.hra_u["a"])
                with torch.no_grad():
                    layer.hra_u["a"].sub_(_RATE * slope)
            results[f"{name}/left"] = left.item()
            with torch.no_grad():
                layer.merge()
                results[f"{name}/change of angles"] = (_cosines(base.weight) - _cosines(weight)).abs().max().item()
                layer.unmerge()
                results[f"{name}/after unmerging"] = (base.weight - weight).abs().max().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
