"""Facts with similar keys in a memory with and without momentum; then a layer that learns to write."""

import json

import torch
from fla.ops.momentum_delta_rule.naive import recurrent_momentum_delta_rule_ref
from layer import MomentumDelta
from torch import nn
from torch.nn import functional as F

_WIDTH, _STREAMS, _FACTS, _TIMES = 8, 16, 5, 5


def _recall(seed: int) -> dict[str, float]:
    """Mean squared errors of what is recalled, after each fact was told several times with a little noise."""
    generator = torch.Generator().manual_seed(seed)
    shared = torch.randn(1, 1, _STREAMS, _WIDTH, generator=generator)
    keys = F.normalize(shared + torch.randn(1, _FACTS, _STREAMS, _WIDTH, generator=generator), dim=-1)
    values = torch.randn(1, _FACTS, _STREAMS, _WIDTH, generator=generator)
    k = keys.repeat(1, _TIMES, 1, 1)
    v = values.repeat(1, _TIMES, 1, 1)
    v = v + 0.2 * torch.randn(v.shape, generator=generator)
    gates = torch.ones(k.shape[:3])
    results = {}
    for name, momentum, strength in (
        ("delta rule", 0.0, 1.0),
        ("delta rule, small steps", 0.0, 0.3),
        ("momentum", 0.6, 0.3),
        ("much momentum", 0.9, 0.3),
    ):
        log_mu = (momentum * gates).clamp(min=1e-30).log()
        _, states = recurrent_momentum_delta_rule_ref(
            k, k, v, 0 * gates, log_mu, k, strength * gates, gates, output_final_state=True
        )
        read = torch.einsum("bthk,bhkv->bthv", keys, states[0])
        results[f"{name}/error"] = (read - values).square().mean().item()
        results[f"{name}/momentum left"] = states[1].square().mean().item()
    return results


def _train(seed: int) -> dict[str, float]:
    """The loss of naming the running mean of a sequence, before and after a few steps."""
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(4, 10), MomentumDelta(10, 2, 4, 5), nn.Linear(10, 4))

    def loss_of(rows: int):
        x = torch.randn(rows, 7, 4, generator=generator)
        means = x.cumsum(1) / torch.arange(1, 8).view(-1, 1)
        return (model(x) - means).square().mean()

    results = {"before": loss_of(64).item()}
    parameters = list(model.parameters())
    for _ in range(8):
        gradients = torch.autograd.grad(loss_of(16), parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.sub_(0.3 * gradient)
    return results | {"after": loss_of(64).item()}


def run(seed: int = 0) -> dict[str, float]:
    """Errors of recall by the rule of writing, and losses of the layer."""
    return {f"recall/{name}": value for name, value in _recall(seed).items()} | {
        f"layer/{name}": value for name, value in _train(seed).items()
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
