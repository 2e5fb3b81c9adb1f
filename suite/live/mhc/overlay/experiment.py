"""How much do many blocks amplify a stream, and does a network with hyper-connections learn?"""

import json

import torch
from streams import Network
from transformers.models.deepseek_v4.configuration_deepseek_v4 import DeepseekV4Config
from transformers.models.deepseek_v4.modeling_deepseek_v4 import DeepseekV4HyperConnection

_DEPTH, _STREAMS, _WIDTH = 24, 4, 8


def _amplification(seed, iterations):
    """Sums of rows and columns of the product of the mixing matrices of many blocks."""
    generator = torch.Generator().manual_seed(seed)
    config = DeepseekV4Config(hidden_size=_WIDTH, hc_mult=_STREAMS, hc_sinkhorn_iters=iterations)
    product = torch.eye(_STREAMS)
    with torch.no_grad():
        for _ in range(_DEPTH):
            connection = DeepseekV4HyperConnection(config)
            for parameter in connection.parameters():
                parameter.copy_(0.6 * torch.randn(parameter.shape, generator=generator))
            streams = torch.randn(1, 1, _STREAMS, _WIDTH, generator=generator)
            _, comb, _ = connection(streams)
            product = comb[0, 0].T @ product
    return {"largest row": product.sum(1).max().item(), "largest column": product.sum(0).max().item()}


def _training(seed):
    """Error of a network that learns a fixed rotation of its inputs."""
    generator = torch.Generator().manual_seed(seed)
    config = DeepseekV4Config(hidden_size=_WIDTH, hc_mult=2, hc_sinkhorn_iters=4)
    network = Network(config, 3, generator)
    skew = torch.randn(_WIDTH, _WIDTH, generator=generator)
    rotation = torch.matrix_exp(0.3 * (skew - skew.T))
    states = torch.randn(16, 2, _WIDTH, generator=generator)
    parameters, errors = list(network.parameters()), []
    for _ in range(10):
        loss = (network(states) - states @ rotation).square().mean()
        errors.append(loss.item())
        slopes = torch.autograd.grad(loss, parameters)
        norm = torch.stack([slope.norm() for slope in slopes]).norm().clamp(min=1.0)
        for parameter, slope in zip(parameters, slopes, strict=True):
            parameter.data.sub_(0.2 * slope / norm)
    return {"before": errors[0], "after": errors[-1]}


def run(seed: int = 0) -> dict[str, float]:
    """Amplification by the number of iterations, and errors before and after training."""
    results = {}
    for iterations in (1, 3, 20):
        results |= {
            f"{iterations} iterations/{name}": value for name, value in _amplification(seed, iterations).items()
        }
    return results | {f"training/{name}": value for name, value in _training(seed).items()}


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
