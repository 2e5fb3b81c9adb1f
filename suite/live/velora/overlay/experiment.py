"""How near gradients from compressed activations come to exact ones, and what a layer learns from them."""

import json

import torch
from layer import LoraLayer
from torch import Tensor, nn
from torch.nn import functional as F

_WIDTH, _OUTPUTS, _RANK, _TOKENS, _STEPS, _RATE = 24, 12, 4, 64, 20, 0.15


def _layer(base: nn.Linear, seed: int, num_groups: int | None, init_type: str) -> LoraLayer:
    torch.manual_seed(seed)
    layer = LoraLayer(base, _RANK, num_groups, init_type=init_type)
    nn.init.normal_(layer.b.weight, std=0.3)
    return layer


def _tokens(generator: torch.Generator) -> Tensor:
    """Tokens whose sub-tokens share a direction, plus noise."""
    shared = torch.linspace(0.5, 1.5, 4).repeat(_WIDTH // 4)
    strength = torch.randn(_TOKENS, _WIDTH // 4, generator=generator).repeat_interleave(4, dim=1) + 0.5
    return shared * strength + 0.3 * torch.randn(_TOKENS, _WIDTH, generator=generator)


def run(seed: int = 0) -> dict[str, float]:
    """Cosines with the exact gradient at the start, and losses after training, by the number of groups."""
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    base = nn.Linear(_WIDTH, _OUTPUTS)
    x = _tokens(generator)
    change = torch.randn(_OUTPUTS, _WIDTH, generator=generator) / _WIDTH**0.5
    wanted = base(x).detach() + x @ change.T
    results, exact = {}, None
    for name, num_groups, init_type in (
        ("uncompressed", None, ""),
        ("24 groups", 24, "batch_average"),
        ("6 groups", 6, "batch_average"),
        ("6 groups, first batch", 6, "batch_average_once"),
        ("5 groups", 5, "batch_average"),
    ):
        layer = _layer(base, seed, num_groups, init_type)
        for step in range(_STEPS):
            loss = (layer(x) - wanted).square().mean()
            slopes = torch.autograd.grad(loss, [layer.a.weight, layer.b.weight])
            if step == 0:
                exact = slopes[0] if exact is None else exact
                results[f"{name}/cosine"] = F.cosine_similarity(slopes[0].flatten(), exact.flatten(), dim=0).item()
            with torch.no_grad():
                for weight, slope in zip((layer.a.weight, layer.b.weight), slopes, strict=True):
                    weight.sub_(_RATE * slope)
        layer.eval()
        results[f"{name}/loss"] = (layer(x) - wanted).square().mean().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
