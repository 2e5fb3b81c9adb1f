"""What is recalled of facts written by the delta rule, and by plain sums; then a layer that learns to write."""

import json
import math

import torch
from fla.ops.delta_rule.naive import delta_rule_chunkwise
from layer import Delta
from torch import Tensor, nn
from torch.nn import functional as F

_WIDTH, _STREAMS = 16, 6
_SYMBOLS, _LENGTH, _STEPS, _ROWS = 4, 10, 16, 8


def _recall(generator: torch.Generator, facts: int) -> dict[str, float]:
    """Facts told one, two and eight times, the values of the last telling being those that hold."""
    keys = F.normalize(torch.randn(1, _STREAMS, facts, _WIDTH, generator=generator), dim=-1)
    old, new = torch.randn(2, 1, _STREAMS, facts, _WIDTH, generator=generator)
    results = {}
    for name, values in {"told once": [new], "changed": [old, new], "told eight times": [new] * 8}.items():
        k, v = keys.repeat(1, 1, len(values), 1), torch.cat(values, dim=2)
        memories = {
            "delta rule": delta_rule_chunkwise(k, k, v, torch.ones(v.shape[:3]), facts)[1],
            "sums": k.mT @ v,
        }
        for rule, memory in memories.items():
            results[f"{facts} facts {name}/{rule}"] = F.cosine_similarity(keys @ memory, new, dim=-1).mean().item()
    return results


class _Reader(nn.Module):
    """Tokens are symbols or blanks, and a blank asks for the symbol that was written last."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(_SYMBOLS + 1, 16)
        self.layer = Delta(16, 2, 6, 8, chunk_size=4)
        self.head = nn.Linear(16, _SYMBOLS)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.layer(self.embedding(tokens)))


def _train(seed: int) -> dict[str, float]:
    """Loss before and after a few steps, and how strongly symbols and blanks are written."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _Reader()
    generator = torch.Generator().manual_seed(seed)

    def loss_of(rows: int) -> Tensor:
        tokens = torch.randint(_SYMBOLS, (rows, _LENGTH), generator=generator)
        blank = torch.rand(rows, _LENGTH, generator=generator) < 0.5
        blank[:, 0] = False
        places = torch.arange(_LENGTH).expand(rows, -1).masked_fill(blank, 0)
        last = tokens.gather(1, places.cummax(dim=1).values)
        return F.cross_entropy(model(tokens.masked_fill(blank, _SYMBOLS)).flatten(0, 1), last.flatten())

    parameters = list(model.parameters())
    speeds = [torch.zeros_like(parameter) for parameter in parameters]
    results = {"loss of guessing": math.log(_SYMBOLS), "loss before": loss_of(48).item()}
    for _ in range(_STEPS):
        gradients = torch.autograd.grad(loss_of(_ROWS), parameters)
        norm = torch.stack([gradient.norm() for gradient in gradients]).norm().clamp(min=1.0)
        for parameter, speed, gradient in zip(parameters, speeds, gradients, strict=True):
            speed.mul_(0.7).add_(gradient / norm)
            parameter.data.sub_(0.2 * speed)
    with torch.no_grad():
        results["loss after"] = loss_of(48).item()
        strengths = model.layer.strengths(model.embedding.weight).mean(dim=-1)
    return results | {"strength of symbols": strengths[:-1].mean().item(), "strength of blanks": strengths[-1].item()}


def run(seed: int = 0) -> dict[str, float]:
    """Mean cosines of what is recalled and what holds, by the rule of writing, and what the layer learns."""
    generator = torch.Generator().manual_seed(seed)
    results = {}
    for facts in (4, 12):
        results |= _recall(generator, facts)
    return results | {f"layer/{name}": value for name, value in _train(seed).items()}


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
