"""Facts in a memory with common and with separate gates; then a layer that is trained."""

import json

import torch
from fla.ops.gdn2.naive import naive_recurrent_gdn2
from layer import GatedDelta2
from torch import nn
from torch.nn import functional as F

_WIDTH, _STREAMS, _FACTS = 8, 16, 6


def _recall(seed: int) -> dict[str, float]:
    """Mean squared errors of the values that hold, after noisy facts were told and half of them were withdrawn.

    A fact is withdrawn by its key, with a value of noise: what matters is that it is erased and nothing is written.
    """
    generator = torch.Generator().manual_seed(seed)
    keys = F.normalize(torch.randn(1, _FACTS, _STREAMS, _WIDTH, generator=generator), dim=-1)
    values = torch.randn(1, _FACTS, _STREAMS, _WIDTH, generator=generator)
    half = _FACTS // 2
    k = torch.cat([keys, keys, keys[:, :half]], dim=1)
    v = torch.cat([values, values, torch.randn(values[:, :half].shape, generator=generator)], dim=1)
    told = (torch.arange(k.shape[1]) < 2 * _FACTS).float().view(1, -1, 1, 1)
    wanted = values * (torch.arange(_FACTS) >= half).float().view(1, -1, 1, 1)
    ones = torch.ones_like(k)
    results = {}
    for name, erase, write in (
        ("a common gate", ones, ones),
        ("a common gate, closed at the end", told * ones, told * ones),
        ("separate gates", ones, told * ones),
    ):
        _, memory = naive_recurrent_gdn2(k, k, v, 0 * k, erase, write, output_final_state=True)
        error = (torch.einsum("bthk,bhkv->bthv", keys, memory) - wanted).square()
        results[f"{name}/withdrawn"] = error[:, :half].mean().item()
        results[f"{name}/kept"] = error[:, half:].mean().item()
    return results


def _train(seed: int) -> dict[str, float]:
    """The loss of naming the last vector that was announced, before and after a few steps."""
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(4, 10), GatedDelta2(10, 2, 4, 5), nn.Linear(10, 3))

    def loss_of(rows: int):
        x = torch.randn(rows, 5, 3, generator=generator)
        announced = torch.rand(rows, 5, 1, generator=generator) < 0.4
        announced[:, 0] = True
        last = torch.where(announced.squeeze(-1), torch.arange(5), 0).cummax(dim=1).values
        wanted = x.gather(1, last.unsqueeze(-1).expand_as(x))
        return (model(torch.cat([x, 2.0 * announced], dim=-1)) - wanted).square().mean()

    results = {"before": loss_of(64).item()}
    parameters = list(model.parameters())
    for _ in range(8):
        gradients = torch.autograd.grad(loss_of(16), parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.sub_(0.5 * gradient)
    return results | {"after": loss_of(64).item()}


def run(seed: int = 0) -> dict[str, float]:
    """Errors of recall by the gates, and losses of the layer."""
    return {f"recall/{name}": value for name, value in _recall(seed).items()} | {
        f"layer/{name}": value for name, value in _train(seed).items()
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
