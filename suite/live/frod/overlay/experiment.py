"""Three layers with one basis: how exactly they start as their base layers, and what their factors learn."""

import json

import torch
from peft.tuners._buffer_dict import BufferDict
from peft.tuners.frod.config import FrodConfig
from peft.tuners.frod.layer import Linear
from peft.tuners.frod.model import _projection_from_weights
from torch import nn

_INPUTS, _OUTPUTS, _ROWS, _STEPS, _RATE = 6, 8, 32, 15, 0.3


def _layers(weights: list[torch.Tensor], entries: torch.Tensor, alpha: float) -> list[Linear]:
    """A layer for each weight. All share the basis, and the places of the trained entries."""
    basis = BufferDict({"default": _projection_from_weights(weights, alpha)})
    indices, size = BufferDict({"default": entries}), BufferDict({"default": torch.tensor([_INPUTS, _INPUTS])})
    layers = []
    for weight in weights:
        base = nn.Linear(_INPUTS, _OUTPUTS).requires_grad_(False)
        base.weight.copy_(weight)
        layers.append(Linear(base, basis, indices, size, "default", FrodConfig()))
    return layers


def run(seed: int = 0) -> dict[str, float]:
    """Errors at the start, and shares of the squared distance to changed layers that are left after some steps."""
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    common = torch.randn(_OUTPUTS, _INPUTS, generator=generator)
    weights = [common + 0.7 * torch.randn(_OUTPUTS, _INPUTS, generator=generator) for _ in range(3)]
    stretch = torch.eye(_INPUTS) + 0.3 * torch.randn(_INPUTS, _INPUTS, generator=generator)
    x = torch.randn(_ROWS, _INPUTS, generator=generator)
    everywhere = (1 - torch.eye(_INPUTS)).nonzero().T
    results = {}
    for name, entries in (("diagonal", everywhere[:, :0]), ("all entries", everywhere)):
        layers = _layers(weights, entries, 0.05)
        starts = [(layer(x) - layer.base_layer(x)).abs().max().item() for layer in layers]
        results[f"{name}/error at the start"] = max(starts)
        left = []
        for layer in layers:
            trained = [layer.frod_lambda_l["default"], layer.frod_lambda_s_values["default"]]
            wanted = layer.base_layer(x @ stretch)
            apart = (layer.base_layer(x) - wanted).square().sum()
            for _ in range(_STEPS):
                loss = (layer(x) - wanted).square().sum() / apart
                slopes = torch.autograd.grad(loss, trained, materialize_grads=True)
                norm = torch.cat(slopes).norm()
                with torch.no_grad():
                    for item, slope in zip(trained, slopes, strict=True):
                        item.sub_(_RATE * slope / (norm + 0.1))
            left.append(loss.item())
        results[f"{name}/left"] = sum(left) / len(left)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
