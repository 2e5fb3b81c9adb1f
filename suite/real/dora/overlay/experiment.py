"""A layer is to change outputs in scale and a little in direction: what do LoRA and DoRA reach with one rank?"""

import json

import torch
from peft.tuners.lora import Linear
from torch import nn

_WIDTH, _RANK, _STEPS = 12, 2, 80


def run(seed: int = 0) -> dict[str, float]:
    """The share of the wanted change that is not reached, and how much magnitudes and directions have moved."""
    torch.manual_seed(seed)
    weight = torch.randn(_WIDTH, _WIDTH, dtype=torch.float64)
    scales = 1 + 0.6 * torch.rand(_WIDTH, 1, dtype=torch.float64)
    turn = 0.3 * torch.randn(_WIDTH, 1, dtype=torch.float64) @ torch.randn(1, _WIDTH, dtype=torch.float64)
    x = torch.randn(60, _WIDTH, dtype=torch.float64)
    results = {}
    for name in ("LoRA", "DoRA"):
        torch.manual_seed(seed + 1)
        base = nn.Linear(_WIDTH, _WIDTH, dtype=torch.float64).requires_grad_(False)
        base.weight.copy_(weight)
        layer = Linear(base, "a", r=_RANK, lora_alpha=2 * _RANK, use_dora=name == "DoRA")
        wanted = x @ (scales * (weight + turn)).T + base.bias
        apart = (base(x) - wanted).square().sum()
        before = layer.lora_magnitude_vector["a"].weight.detach().clone() if name == "DoRA" else None
        optimizer = torch.optim.Adam([item for item in layer.parameters() if item.requires_grad], lr=0.05)
        for _ in range(_STEPS):
            optimizer.zero_grad()
            left = (layer(x) - wanted).square().sum() / apart
            left.backward()
            optimizer.step()
        results[f"{name}/left"] = left.item()
        if before is not None:
            now = layer.lora_magnitude_vector["a"].weight.detach()
            results[f"{name}/from the start"] = (layer(0 * x) - base.bias).abs().max().item()
            results[f"{name}/magnitudes moved"] = (now - before).abs().mean().item()
            results[f"{name}/of the scales"] = (now / before / scales.squeeze(1)).mean().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
