"""A stack of layers that share projections and experts learns two domains; how routers tell them apart."""

import json

import torch
from peft.tuners.lily.config import LilyConfig
from peft.tuners.lily.layer import Linear
from torch import Tensor, nn

_WIDTH, _RANK, _EXPERTS, _LAYERS, _STRIDE, _TOKENS, _STEPS, _RATE = 8, 3, 3, 4, 2, 12, 12, 0.4


def _stack() -> list[Linear]:
    """Layers of which two neighbours share A, and all share the experts. Each has a router of its own."""
    config, layers = LilyConfig(_STRIDE, _EXPERTS, 1.5), []
    for number in range(_LAYERS):
        base = nn.Linear(_WIDTH, _WIDTH).requires_grad_(False)
        a = layers[number // _STRIDE * _STRIDE].lily_A["default"] if number % _STRIDE else None
        b = layers[0].lily_B["default"] if layers else None
        layers.append(Linear(base, "default", _RANK, config, a, b))
    with torch.no_grad():
        layers[0].lily_B["default"].weight.normal_(std=0.2)
        for layer in layers:
            layer.lily_router["default"].weight.normal_()
    return layers


def _outputs(layers: list[Linear], x: Tensor) -> Tensor:
    for layer in layers:
        x = torch.tanh(layer(x))
    return x


def run(seed: int = 0) -> dict[str, float]:
    """Losses before and after training, with and without adapters, and the effect of a neighbour in the batch."""
    torch.manual_seed(seed)
    layers = _stack()
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(2, _TOKENS, _WIDTH, generator=generator)
    domains = torch.randn(2, 1, _WIDTH, generator=generator) + 0.5 * noise
    wanted = torch.tanh(torch.randn(2, 1, _WIDTH, generator=generator)).expand(-1, _TOKENS, -1)
    trained = list({id(item): item for layer in layers for item in layer.parameters() if item.requires_grad}.values())

    def loss() -> Tensor:
        return sum((_outputs(layers, x) - y).square().mean() for x, y in zip(domains, wanted, strict=True)) / 2

    results = {"trained numbers": float(sum(item.numel() for item in trained)), "loss before": loss().item()}
    for _ in range(_STEPS):
        slopes = torch.autograd.grad(loss(), trained)
        with torch.no_grad():
            for item, slope in zip(trained, slopes, strict=True):
                item.sub_(_RATE * slope)
    with torch.no_grad():
        results["loss after"] = loss().item()
        # The experts are mixed for a batch as a whole, so that one domain changes the outputs of the other.
        together, alone = _outputs(layers, domains)[0], _outputs(layers, domains[0])
        results["effect of the other domain"] = (together - alone).abs().max().item()
        for layer in layers:
            layer.enable_adapters(False)
        results["loss without adapters"] = loss().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
