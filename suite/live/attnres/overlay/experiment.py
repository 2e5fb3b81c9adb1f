"""A few steps of training with sums and with attention over depth."""

import json

import torch
from depth import Stack
from torch import nn

_WIDTH, _DEPTH, _CLASSES, _STEPS, _ROWS = 12, 5, 4, 10, 32


def _train(attention: bool, seed: int) -> dict[str, float]:
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Stack(_WIDTH, _DEPTH, _CLASSES, attention)
    directions = torch.randn(_CLASSES, _WIDTH, generator=generator)

    def loss_of(rows: int):
        x = torch.randn(rows, _WIDTH, generator=generator)
        logits, state, weights = model(x)
        return nn.functional.cross_entropy(logits, (x @ directions.T).argmax(-1)), state, weights

    parameters = list(model.parameters())
    for _ in range(_STEPS):
        loss, _, _ = loss_of(_ROWS)
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.sub_(0.3 * gradient)
    with torch.no_grad():
        loss, state, weights = loss_of(256)
    results = {"loss": loss.item(), "norm of the last state": state.norm(dim=-1).mean().item()}
    if weights is not None:
        means = weights.mean(-1)
        results |= {"weight of the input": means[0].item(), "weight of the last layer": means[-1].item()}
    return results


def run(seed: int = 0) -> dict[str, float]:
    """Losses, norms and depth weights after a few steps, by how the layers are connected."""
    return {
        f"{name}/{key}": value
        for name, attention in (("sums", False), ("attention", True))
        for key, value in _train(attention, seed).items()
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
