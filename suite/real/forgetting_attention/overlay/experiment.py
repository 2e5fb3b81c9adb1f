"""Which value was written last? A layer of forgetting attention learns it; with its gates held open it does not."""

import json
import math

import torch
from forgetting_layer import ForgettingAttention
from torch import Tensor, nn
from torch.nn import functional as F

_SYMBOLS, _LENGTH, _STEPS, _ROWS = 6, 8, 14, 6
_RATE = 0.15


class _Reader(nn.Module):
    """Steps without a symbol ask for the last one. No position is encoded anywhere."""

    def __init__(self, forgets: bool, window: int | None) -> None:
        super().__init__()
        self.embedding = nn.Embedding(_SYMBOLS + 1, 16)
        self.attention = ForgettingAttention(16, 2, 1, 8, window, forgets)
        self.head = nn.Linear(16, _SYMBOLS)
        nn.init.normal_(self.embedding.weight, std=0.7)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.attention(self.embedding(tokens)))


def _sequences(rows: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Tokens, half of them blanks, and the symbol that was written last, itself included."""
    tokens = torch.randint(_SYMBOLS, (rows, _LENGTH), generator=generator)
    blank = torch.rand(rows, _LENGTH, generator=generator) < 0.5
    blank[:, 0] = False
    places = torch.arange(_LENGTH).expand(rows, -1).masked_fill(blank, 0)
    last = tokens.gather(1, places.cummax(dim=1).values)
    return tokens.masked_fill(blank, _SYMBOLS), last


def _train(forgets: bool, window: int | None, seed: int) -> dict[str, float]:
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = _Reader(forgets, window)
    parameters = list(model.parameters())
    velocities = [torch.zeros_like(each) for each in parameters]
    for _ in range(_STEPS):
        tokens, last = _sequences(_ROWS, generator)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), last.flatten())
        with torch.no_grad():
            # Where the gates are held open, nothing depends on what computes them.
            for each, velocity, slope in zip(
                parameters, velocities, torch.autograd.grad(loss, parameters, materialize_grads=True), strict=True
            ):
                each -= _RATE * velocity.mul_(0.9).add_(slope)
    tokens, last = _sequences(16, generator)
    with torch.no_grad():
        loss = F.cross_entropy(model(tokens).flatten(0, 1), last.flatten()).item()
        symbols = model.embedding.weight
        gates = model.attention.gates(symbols).exp().mean(dim=-1)
    return {"loss": loss, "gate of symbols": gates[:-1].mean().item(), "gate of blanks": gates[-1].item()}


def run(seed: int = 0) -> dict[str, float]:
    """Losses on new sequences, and how far the learnt gates are open where a symbol stands and where none does."""
    results = {"loss of guessing": math.log(_SYMBOLS)}
    for name, forgets, window in [("forgets", True, None), ("keeps all", False, None), ("forgets, window", True, 5)]:
        for key, value in _train(forgets, window, seed).items():
            results[f"{name}/{key}"] = value
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
