"""Layers learn updates out of one shared bank: how near do they come, by the number of vectors that are mixed?"""

import json

import torch
from peft.tuners.vblora import Linear
from torch import nn

_WIDTH, _LAYERS, _RANK, _VECTORS, _LENGTH, _STEPS = 16, 2, 2, 12, 4, 20


def _layers(topk):
    bank = nn.ParameterDict({"a": 0.5 * torch.randn(_VECTORS, _LENGTH, dtype=torch.float64)})
    sizes = {"r": _RANK, "num_vectors": _VECTORS, "vector_length": _LENGTH, "topk": topk, "init_logits_std": 0.5}
    bases = [nn.Linear(_WIDTH, _WIDTH, dtype=torch.float64) for _ in range(_LAYERS)]
    return bank, [Linear(base, bank, "a", **sizes).eval() for base in bases]


def run(seed: int = 0) -> dict[str, float]:
    """The share of the wanted outputs' changes that is not reached, how many logits moved, and a rank."""
    torch.manual_seed(seed)
    x = torch.randn(40, _WIDTH, dtype=torch.float64)
    changes = [
        x @ torch.randn(_WIDTH, _RANK, dtype=torch.float64) @ torch.randn(_RANK, _WIDTH, dtype=torch.float64)
        for _ in range(_LAYERS)
    ]
    size = sum(item.square().sum() for item in changes)
    results = {}
    for topk in (1, 2, 4):
        bank, layers = _layers(topk)
        logits = [item for layer in layers for name, item in layer.named_parameters() if "logits" in name]
        before = [item.detach().clone() for item in logits]
        for step in range(_STEPS):
            left = sum(
                (nn.functional.linear(x, layer.get_delta_weight("a")) - change).square().sum()
                for layer, change in zip(layers, changes, strict=True)
            )
            slopes = torch.autograd.grad(left / size, [bank["a"], *logits])
            rate = 0.3 * (1 - step / _STEPS)
            with torch.no_grad():
                for item, slope in zip((bank["a"], *logits), slopes, strict=True):
                    item -= rate * slope / slope.square().mean().sqrt().clamp(min=1e-9)
        moved = torch.cat([((old - new).abs() > 1e-6).flatten() for old, new in zip(before, logits, strict=True)])
        results[f"top {topk}/left"] = (left / size).item()
        results[f"top {topk}/logits that moved"] = moved.double().mean().item()
        results[f"top {topk}/rank"] = (
            torch.linalg.matrix_rank(layers[0].get_delta_weight("a"), rtol=1e-9).double().item()
        )
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
