"""Signals that are smoothed, facts that fade, and a layer that learns: what the factor of a state decides."""

import json
import math

import torch
from fla.ops.simple_gla.naive import naive_chunk_simple_gla
from ssd import StateSpace
from torch import Tensor, nn
from torch.nn import functional as F

_SYMBOLS, _LENGTH, _STEPS, _ROWS = 4, 10, 10, 8


def _smooth(generator: torch.Generator, steps: int = 60) -> dict[str, float]:
    """A state of one entry is a running mean: how well it follows a slow signal under noise, for several factors."""
    time = torch.arange(steps) / steps
    signal = torch.sin(2 * math.pi * time)
    noisy = signal + 0.5 * torch.randn(steps, generator=generator)
    results = {}
    for factor in (0.0001, 0.5, 0.8, 0.98):
        v = (1 - factor) * noisy.view(1, steps, 1, 1)
        one = torch.ones(1, steps, 1, 1)
        smooth, last = naive_chunk_simple_gla(one, one, v, math.log(factor) * one[..., 0], None, True, 16, 1.0)
        assert torch.allclose(last.flatten(), smooth[0, -1, 0], atol=1e-4)
        error = (smooth.flatten() - signal)[10:]
        results[f"smoothing, factor {factor:g}/error"] = error.square().mean().sqrt().item()
    return results


def _facts(generator: torch.Generator, facts: int = 12, width: int = 16) -> dict[str, float]:
    """Pairs are written one after the other and then all asked for: what is left of the first and of the last three."""
    keys = F.normalize(torch.randn(4, facts, 1, width, generator=generator), dim=-1)
    values = torch.randn(4, facts, 1, width, generator=generator)
    results = {}
    for name, log_factor in [("nothing fades", 0.0), ("all fades", -0.3)]:
        g = torch.full((4, facts, 1), log_factor)
        _, memory = naive_chunk_simple_gla(keys, keys, values, g, output_final_state=True, chunk_size=5)
        still = torch.zeros_like(keys)
        read, nothing = naive_chunk_simple_gla(keys, still, still, 0 * g, initial_state=memory, scale=1.0)
        assert nothing is None
        for which, part in [("first", slice(0, 3)), ("last", slice(-3, None))]:
            along = F.cosine_similarity(read[:, part], values[:, part], dim=-1).mean()
            results[f"{name}/agreement of the {which}"] = along.item()
            results[f"{name}/size of the {which}"] = (read[:, part].norm() / values[:, part].norm()).item()
    return results


class _Reader(nn.Module):
    """Symbols and blanks; a blank asks for the symbol that was written last."""

    def __init__(self, selective: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(_SYMBOLS + 1, 12)
        self.layer = StateSpace(12, 2, 6, 6, chunk=4, selective=selective)
        self.head = nn.Linear(12, _SYMBOLS)

    def forward(self, tokens: Tensor) -> Tensor:
        states = self.embedding(tokens)
        return self.head(states + self.layer(states)[0])


def _train(selective: bool, seed: int) -> float:
    """The loss of naming the symbol that was written last, after a few steps."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _Reader(selective)
    generator = torch.Generator().manual_seed(seed)

    def sequences(rows: int) -> tuple[Tensor, Tensor]:
        tokens = torch.randint(_SYMBOLS, (rows, _LENGTH), generator=generator)
        blank = torch.rand(rows, _LENGTH, generator=generator) < 0.6
        blank[:, 0] = False
        places = torch.arange(_LENGTH).expand(rows, -1).masked_fill(blank, 0)
        return tokens.masked_fill(blank, _SYMBOLS), tokens.gather(1, places.cummax(dim=1).values)

    parameters = list(model.parameters())
    speeds = [torch.zeros_like(parameter) for parameter in parameters]
    for _ in range(_STEPS):
        tokens, last = sequences(_ROWS)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), last.flatten())
        gradients = torch.autograd.grad(loss, parameters)
        norm = torch.stack([gradient.norm() for gradient in gradients]).norm().clamp(min=1.0)
        for parameter, speed, gradient in zip(parameters, speeds, gradients, strict=True):
            speed.mul_(0.5).add_(gradient / norm)
            parameter.data.sub_(0.2 * speed)
    tokens, last = sequences(48)
    with torch.no_grad():
        return F.cross_entropy(model(tokens).flatten(0, 1), last.flatten()).item()


def run(seed: int = 0) -> dict[str, float]:
    """What states with given factors hold, and the losses of a layer that learns its own."""
    generator = torch.Generator().manual_seed(seed)
    results = {**_smooth(generator), **_facts(generator)}
    results["layer/loss"] = _train(True, seed)
    results["layer with fixed step sizes/loss"] = _train(False, seed)
    results["loss of guessing"] = math.log(_SYMBOLS)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
