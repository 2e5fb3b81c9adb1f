"""LoRA and DoRA of the same rank learn a change that is mostly of scale, and a little of direction."""

import json

import torch
from peft.tuners.lora import Linear
from torch import nn

_WIDTH, _RANK, _STEPS, _RATE = 12, 2, 60, 0.1


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
        trained = [item for item in layer.parameters() if item.requires_grad]
        moments = [(torch.zeros_like(item), torch.zeros_like(item)) for item in trained]
        for step in range(1, _STEPS + 1):
            layer.zero_grad()
            left = (layer(x) - wanted).square().sum() / apart
            left.backward()
            # A step of Adam.
            with torch.no_grad():
                for item, (mean, square) in zip(trained, moments, strict=True):
                    mean.lerp_(item.grad, 0.1)
                    square.lerp_(item.grad.square(), 0.001)
                    item -= _RATE * mean / (1 - 0.9**step) / ((square / (1 - 0.999**step)).sqrt() + 1e-8)
        results[f"{name}/left"] = left.item()
        if before is not None:
            now = layer.lora_magnitude_vector["a"].weight.detach()
            results[f"{name}/from the start"] = (layer(0 * x) - base.bias).abs().max().item()
            results[f"{name}/magnitudes moved"] = (now - before).abs().mean().item()
            results[f"{name}/of the scales"] = (now / before / scales.squeeze(1)).mean().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
