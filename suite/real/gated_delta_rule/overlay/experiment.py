"""Facts that are overwritten, and topics that end: what is recalled with gates and strengths, and what without."""

import json
import math

import torch
from fla.ops.gated_delta_rule.naive import naive_recurrent_gated_delta_rule
from layer import GatedDelta
from torch import Tensor, nn
from torch.nn import functional as F

_WIDTH, _FACTS, _STREAMS = 16, 6, 4
_SYMBOLS, _LENGTH, _STEPS, _ROWS = 4, 8, 14, 8


def _recall(generator: torch.Generator, topics: int = 4, times: int = 2) -> dict[str, float]:
    """Topics with facts of their own, each told twice with another value: what is known of the last and the first."""
    keys = F.normalize(torch.randn(_STREAMS, topics, _FACTS, _WIDTH, generator=generator), dim=-1)
    values = torch.randn(_STREAMS, topics, times, _FACTS, _WIDTH, generator=generator)
    k = keys.unsqueeze(2).expand(-1, -1, times, -1, -1).reshape(_STREAMS, -1, 1, _WIDTH)
    v = values.reshape(_STREAMS, -1, 1, _WIDTH)
    still = torch.zeros(k.shape[:3])
    ends = still.clone()
    ends[:, times * _FACTS :: times * _FACTS] = -8.0
    memories = {
        "gates shut between topics": (ends, 1.0),
        "gates open": (still, 1.0),
        "gates of one half": (still + math.log(0.5), 1.0),
        "weak writes": (ends, 0.2),
    }
    results = {}
    for name, (g, beta) in memories.items():
        _, memory = naive_recurrent_gated_delta_rule(k, k, v, still + beta, g, output_final_state=True)
        # Questions write nothing and forget nothing.
        asked = torch.cat([keys[:, -1], keys[:, 0]], dim=1).unsqueeze(2)
        silent = torch.zeros(asked.shape[:3])
        read, _ = naive_recurrent_gated_delta_rule(
            asked, asked, torch.zeros_like(asked), silent, silent, scale=1.0, initial_state=memory
        )
        last, first = read.squeeze(2).split(_FACTS, dim=1)
        wanted = values[:, -1, -1]
        results[f"{name}/error of the last topic"] = ((last - wanted).norm() / wanted.norm()).item()
        results[f"{name}/what is left of the first"] = (first.norm() / values[:, 0, -1].norm()).item()
    return results


class _Reader(nn.Module):
    """Tokens are symbols or blanks, and a blank asks for the symbol that was written last."""

    def __init__(self, gated: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(_SYMBOLS + 1, 16)
        self.layer = GatedDelta(16, 2, 6, 8, gated)
        self.head = nn.Linear(16, _SYMBOLS)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.layer(self.embedding(tokens))[0])


def _train(gated: bool, seed: int) -> dict[str, float]:
    """Loss and accuracy of naming the symbol that was written last, after a few steps."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _Reader(gated)
    generator = torch.Generator().manual_seed(seed)

    def sequences(rows: int) -> tuple[Tensor, Tensor]:
        tokens = torch.randint(_SYMBOLS, (rows, _LENGTH), generator=generator)
        blank = torch.rand(rows, _LENGTH, generator=generator) < 0.5
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
            speed.mul_(0.7).add_(gradient / norm)
            parameter.data.sub_(0.2 * speed)
    tokens, last = sequences(48)
    with torch.no_grad():
        loss = F.cross_entropy(model(tokens).flatten(0, 1), last.flatten()).item()
        gates = model.layer.gates(model.embedding.weight).exp().mean(dim=-1)
    return {"loss": loss, "gate of symbols": gates[:-1].mean().item(), "gate of blanks": gates[-1].item()}


def run(seed: int = 0) -> dict[str, float]:
    """What memories hold that are written by hand, and the losses of a layer that learns to."""
    results = _recall(torch.Generator().manual_seed(seed))
    results["loss of guessing"] = math.log(_SYMBOLS)
    for name, gated in [("layer", True), ("layer, gates open", False)]:
        for key, value in _train(gated, seed).items():
            results[f"{name}/{key}"] = value
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
