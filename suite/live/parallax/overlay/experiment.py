"""Regression with softmax attention and with Parallax; then a layer that is trained."""

import json

import torch
from fla.ops.parallax.naive import naive_parallax
from layer import Parallax
from torch import nn

_WIDTH, _POINTS, _STREAMS, _STEPS = 4, 16, 6, 12


def _regress(seed: int) -> dict[str, float]:
    """Mean squared errors at the queries, before and after the projection to the probes was trained."""
    generator = torch.Generator().manual_seed(seed)
    slopes = torch.randn(_STREAMS, _WIDTH, _WIDTH, generator=generator) / 2
    k = torch.randn(1, _POINTS, _STREAMS, _WIDTH, generator=generator)
    q = 1.5 * torch.randn(1, _POINTS, _STREAMS, _WIDTH, generator=generator)
    v, wanted = (torch.einsum("bthd,hde->bthe", item, slopes) for item in (k, q))
    projection = torch.zeros(_WIDTH, _WIDTH, requires_grad=True)
    results = {}
    for step in range(_STEPS + 1):
        error = (naive_parallax(q, q @ projection, k, v, causal=False) - wanted).square().mean()
        if step in (0, _STEPS):
            results["with probes" if step else "softmax alone"] = error.item()
        (slope,) = torch.autograd.grad(error, projection)
        with torch.no_grad():
            projection.sub_(0.3 * slope)
    return results | {"trace of the projection": projection.trace().item()}


def _train(seed: int) -> dict[str, float]:
    """The loss of naming the change since the last step, before and after a few steps."""
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(3, 12), Parallax(12, 2, 2, 4, window_size=3), nn.Linear(12, 3))

    def loss_of(rows: int):
        x = torch.randn(rows, 6, 3, generator=generator)
        return (model(x) - x.diff(dim=1, prepend=x[:, :1])).square().mean()

    results = {"before": loss_of(64).item()}
    parameters = list(model.parameters())
    for _ in range(8):
        gradients = torch.autograd.grad(loss_of(16), parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.sub_(0.3 * gradient)
    return results | {"after": loss_of(64).item()}


def run(seed: int = 0) -> dict[str, float]:
    """Errors of the regression, and losses of the layer."""
    return {f"regression/{name}": value for name, value in _regress(seed).items()} | {
        f"layer/{name}": value for name, value in _train(seed).items()
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
