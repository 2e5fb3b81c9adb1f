"""Facts in a long stream, weights over distances, and a layer that learns: what the scales of levels are for."""

import json
import math

import torch
from fla.ops.log_linear_attn.naive import construct_H_matrix, construct_level_mask, naive_log_linear_attn
from layer import LogLinear
from torch import Tensor, nn
from torch.nn import functional as F

_SYMBOLS, _LENGTH, _STEPS, _ROWS = 4, 11, 10, 8


def _levels(length: int) -> int:
    return math.ceil(math.log2(length)) + 1


def _recall(generator: torch.Generator, steps: int = 45, width: int = 12) -> dict[str, float]:
    """The last position asks for each earlier fact, with scales for its level alone, for all, and for nearer ones."""
    keys = F.normalize(torch.randn(1, steps, 1, width, generator=generator), dim=-1)
    values = torch.randn(1, steps, 1, width, generator=generator)
    levels = _levels(steps)
    held = torch.stack([construct_level_mask(level, torch.ones(levels, steps)) for level in range(levels)])[:, -1]
    results = {
        "levels that the last position has": float((held.sum(-1) > 0).sum()),
        "facts that some level holds": held.sum().item(),
    }
    ways = {
        "all alike": torch.ones(steps, levels),
        "the level of the fact": held.T,
        "nearer ones more": torch.exp2(-torch.arange(levels).float()).expand(steps, -1),
    }
    # One row for each fact that is asked for.
    facts = torch.arange(0, steps - 1, 4)
    q, k, v = (
        keys[0, facts].unsqueeze(1).expand(-1, steps, -1, -1),
        *(x.expand(len(facts), -1, -1, -1) for x in (keys, values)),
    )
    still = torch.zeros(len(facts), steps, 1)
    for name, scales in ways.items():
        read = naive_log_linear_attn(q, k, v, still, scales[facts].view(-1, 1, 1, levels).expand(-1, steps, -1, -1))
        errors = (read[:, -1, 0] - values[0, facts, 0]).norm(dim=-1) / values[0, facts, 0].norm(dim=-1)
        results[f"{name}/error"] = errors.mean().item()
    return results


def _distances(steps: int = 32) -> dict[str, float]:
    """Which share of the last row's weight lies how far back, with gates and without."""
    levels = _levels(steps)
    scales = torch.exp2(-torch.arange(levels).float()).unsqueeze(-1).expand(-1, steps)
    results = {}
    for name, gate in [("gates open", 0.0), ("gates of 0.9", math.log(0.9))]:
        weights = construct_H_matrix(torch.full((steps,), gate), scales)[-1].flip(0)
        for low, high in [(0, 1), (1, 4), (4, 16), (16, steps)]:
            results[f"{name}/share of distances {low} to {high - 1}"] = (weights[low:high].sum() / weights.sum()).item()
    return results


class _Counter(nn.Module):
    """Tokens to the symbol of the last even place."""

    def __init__(self, levelled: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(_SYMBOLS, 12)
        self.place = nn.Embedding(_LENGTH, 12)
        self.layer = LogLinear(12, 1, 2, 6, _LENGTH, levelled)
        self.head = nn.Linear(12, _SYMBOLS)

    def forward(self, tokens: Tensor) -> Tensor:
        states = self.embedding(tokens) + self.place.weight
        return self.head(self.layer(states))


def _train(levelled: bool, seed: int) -> float:
    """The loss of naming the symbol of the last even place, after a few steps."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _Counter(levelled)
    generator = torch.Generator().manual_seed(seed)

    def sequences(rows: int) -> tuple[Tensor, Tensor]:
        tokens = torch.randint(_SYMBOLS, (rows, _LENGTH), generator=generator)
        places = torch.arange(_LENGTH)
        return tokens, tokens[:, places - places % 2]

    parameters = list(model.parameters())
    speeds = [torch.zeros_like(parameter) for parameter in parameters]
    for _ in range(_STEPS):
        tokens, wanted = sequences(_ROWS)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), wanted.flatten())
        # Where all levels are alike, nothing depends on what computes their scales.
        gradients = torch.autograd.grad(loss, parameters, materialize_grads=True)
        norm = torch.stack([gradient.norm() for gradient in gradients]).norm().clamp(min=1.0)
        for parameter, speed, gradient in zip(parameters, speeds, gradients, strict=True):
            speed.mul_(0.5).add_(gradient / norm)
            parameter.data.sub_(0.3 * speed)
    tokens, wanted = sequences(48)
    with torch.no_grad():
        return F.cross_entropy(model(tokens).flatten(0, 1), wanted.flatten()).item()


def run(seed: int = 0) -> dict[str, float]:
    """What is read with scales that are given, and the losses of a layer that learns its own."""
    results = {**_recall(torch.Generator().manual_seed(seed)), **_distances()}
    results["layer/loss"] = _train(True, seed)
    results["layer, all levels alike/loss"] = _train(False, seed)
    results["loss of guessing"] = math.log(_SYMBOLS)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
