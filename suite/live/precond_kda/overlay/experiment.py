"""Facts whose keys have strong and weak channels, by how writes are preconditioned; then a layer that is trained."""

import json

import torch
from fla.ops.precond_kda.naive import naive_recurrent_precond_kda
from layer import PreconditionedDelta
from torch import nn
from torch.nn import functional as F

_WIDTH, _STREAMS, _FACTS, _TIMES = 8, 16, 6, 4


def _recall(seed: int) -> dict[str, float]:
    """Mean squared errors of what is recalled, and the spread of the curvature over the channels."""
    generator = torch.Generator().manual_seed(seed)
    strengths = torch.linspace(-1.2, 1.2, _WIDTH).exp()
    keys = F.normalize(strengths * torch.randn(1, _FACTS, _STREAMS, _WIDTH, generator=generator), dim=-1)
    values = torch.randn(1, _FACTS, _STREAMS, _WIDTH, generator=generator)
    k, v = keys.repeat(1, _TIMES, 1, 1), values.repeat(1, _TIMES, 1, 1)
    ones = torch.ones(k.shape[:3])
    results = {}
    for base in (1.0, 1.5, 2.5):
        _, memory, curvature = naive_recurrent_precond_kda(
            k, k, v, 0 * k, -0.01 * ones, ones, 0.8 * ones, output_final_state=True, x=base, log_atk_scale=0.0
        )
        read = torch.einsum("bthk,bhkv->bthv", keys, memory)
        results[f"base {base}/error"] = (read - values).square().mean().item()
    return results | {"spread of the curvature": curvature.add(1e-6).log().std(-1).mean().item()}


def _train(seed: int) -> dict[str, float]:
    """The loss of naming the first vector of a sequence, before and after a few steps."""
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(4, 10), PreconditionedDelta(10, 2, 4, 5), nn.Linear(10, 4))

    def loss_of(rows: int):
        x = torch.randn(rows, 5, 4, generator=generator)
        return (model(x) - x[:, :1]).square().mean()

    results = {"before": loss_of(64).item()}
    parameters = list(model.parameters())
    for _ in range(8):
        gradients = torch.autograd.grad(loss_of(16), parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.sub_(0.3 * gradient)
    return results | {"after": loss_of(64).item()}


def run(seed: int = 0) -> dict[str, float]:
    """Errors of recall by the base of the squash, and losses of the layer."""
    return {f"recall/{name}": value for name, value in _recall(seed).items()} | {
        f"layer/{name}": value for name, value in _train(seed).items()
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
