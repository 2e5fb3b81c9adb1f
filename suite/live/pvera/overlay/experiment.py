"""What a layer with a sampled adapter learns, how its samples vary, and what merging changes."""

import json

import torch
from peft.tuners._buffer_dict import BufferDict
from peft.tuners.pvera.config import PveraConfig
from peft.tuners.pvera.layer import Linear
from torch import Tensor, nn

_INPUTS, _OUTPUTS, _RANK, _ROWS, _STEPS, _RATE = 10, 6, 20, 48, 25, 0.4


def _layer(seed: int, own_generator: bool) -> tuple[nn.Linear, Linear]:
    torch.manual_seed(seed)
    base = nn.Linear(_INPUTS, _OUTPUTS).requires_grad_(False)
    # One pair of matrices for layers of up to 12 inputs and 9 outputs.
    a = BufferDict({"default": torch.randn(2 * _RANK, 12) / _INPUTS**0.5})
    b = BufferDict({"default": torch.randn(9, _RANK) / _RANK**0.5})
    config = PveraConfig(generator_seed=seed + 1 if own_generator else None, d_initial=0.8)
    return base, Linear(base, a, b, "default", _RANK, config)


def _spread(layer: Linear, x: Tensor) -> float:
    """Mean standard deviation of the outputs over samples."""
    with torch.no_grad():
        return torch.stack([layer(x) for _ in range(12)]).std(dim=0).mean().item()


def run(seed: int = 0) -> dict[str, float]:
    """Losses before and after training, spreads in training and evaluation, and the effect of merging."""
    results = {}
    for name, own_generator in (("global generator", False), ("own generator", True)):
        base, layer = _layer(seed, own_generator)
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(_ROWS, _INPUTS, generator=generator)
        change = torch.randn(_OUTPUTS, _INPUTS, generator=generator) / _INPUTS**0.5
        wanted = base(x) + x @ change.T + 0.2 * torch.randn(_ROWS, _OUTPUTS, generator=generator)
        vectors = [layer.pvera_lambda_d["default"], layer.pvera_lambda_b["default"]]
        layer.eval()
        results[f"{name}/loss before"] = (layer(x) - wanted).square().mean().item()
        layer.train()
        for _ in range(_STEPS):
            slopes = torch.autograd.grad((layer(x) - wanted).square().mean(), vectors)
            with torch.no_grad():
                for vector, slope in zip(vectors, slopes, strict=True):
                    vector.sub_(_RATE * slope)
        results[f"{name}/spread in training"] = _spread(layer, x)
        layer.eval()
        results[f"{name}/spread in evaluation"] = _spread(layer, x)
        plain = layer(x).detach()
        results[f"{name}/loss after"] = (plain - wanted).square().mean().item()
        layer.sample_at_inference["default"] = True
        results[f"{name}/spread when sampling"] = _spread(layer, x)
        layer.merge()
        results[f"{name}/change by merging"] = (layer(x) - plain).abs().max().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
