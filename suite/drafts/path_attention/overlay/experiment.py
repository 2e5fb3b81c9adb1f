"""Items that are exchanged, gates that forget, and a layer that learns: what transformations along the way are for."""

import json
import math

import torch
from fla.ops.path_attn.naive import naive_path_attn
from layer import PathLayer
from torch import Tensor, nn
from torch.nn import functional as F

_ITEMS, _SWAPS, _LENGTH, _STEPS, _ROWS = 5, 30, 12, 10, 16


def _follow(generator: torch.Generator) -> dict[str, float]:
    """Items are stored at the first places, exchanged in pairs, and asked for by place after each exchange."""
    steps = _ITEMS + _SWAPS
    basis = torch.eye(_ITEMS)
    k, v, w = torch.zeros(3, 1, steps, 1, _ITEMS)
    k[0, :_ITEMS, 0], v[0, :_ITEMS, 0] = basis, basis
    beta = torch.zeros(1, steps, 1)
    where, places = list(range(_ITEMS)), [list(range(_ITEMS))] * _ITEMS
    for step in range(_ITEMS, steps):
        a, b = torch.randperm(_ITEMS, generator=generator)[:2].tolist()
        w[0, step, 0] = (basis[a] - basis[b]) / math.sqrt(2)
        beta[0, step, 0] = 2.0
        where[a], where[b] = where[b], where[a]
        places = [*places, list(where)]
    wanted = torch.tensor(places)
    results = {}
    for name, strength in [("with reflections", 1.0), ("with projections", 0.5), ("without", 0.0)]:
        found = []
        for place in range(_ITEMS):
            q = basis[place].expand(1, steps, 1, -1)
            read = naive_path_attn(q, k, v, w, strength * beta, torch.zeros(1, steps, 1), 12.0, chunk_size=8)
            found.append(read[0, :, 0].gather(-1, wanted[:, place, None])[_ITEMS:])
        results[f"{name}/weight of the right item"] = torch.stack(found).mean().item()
    return results


def _forget(generator: torch.Generator, steps: int = 24) -> dict[str, float]:
    """Which share of weight of the last row lies how far back, by gate."""
    q, k, w = torch.randn(3, 1, steps, 1, 6, generator=generator)
    w = F.normalize(w, dim=-1)
    v = torch.eye(steps).view(1, steps, 1, steps)
    beta = 2 * torch.rand(1, steps, 1, generator=generator)
    results = {}
    for name, gate in [("gates open", 0.0), ("gates of 0.8", math.log(0.8))]:
        scale = 6**-0.5
        g = torch.full((1, steps, 1), gate / scale)
        row = naive_path_attn(q, k, v, w, beta, g, scale)[0, -1, 0].flip(0)
        for low, high in [(0, 1), (1, 4), (4, 12), (12, steps)]:
            results[f"{name}/share of distances {low} to {high - 1}"] = row[low:high].sum().item()
    return results


class _Parity(nn.Module):
    """Bits to how many of them were one so far, modulo two."""

    def __init__(self, follows: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(2, 8)
        self.layer = PathLayer(8, 1, 2, 4, follows)
        self.head = nn.Linear(8, 2)

    def forward(self, bits: Tensor) -> Tensor:
        states = self.embedding(bits)
        return self.head(states + self.layer(states))


def _train(follows: bool, seed: int) -> float:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _Parity(follows)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.5)
    for _ in range(_STEPS):
        bits = torch.randint(2, (_ROWS, _LENGTH), generator=generator)
        loss = F.cross_entropy(model(bits).flatten(0, 1), (bits.cumsum(1) % 2).flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    bits = torch.randint(2, (64, _LENGTH), generator=generator)
    with torch.no_grad():
        return F.cross_entropy(model(bits).flatten(0, 1), (bits.cumsum(1) % 2).flatten()).item()


def run(seed: int = 0) -> dict[str, float]:
    """What is read along paths that are given, and the losses of a layer that learns its own."""
    generator = torch.Generator().manual_seed(seed)
    results = {**_follow(generator), **_forget(generator)}
    results["layer/loss"] = _train(True, seed)
    results["layer without transformations/loss"] = _train(False, seed)
    results["loss of guessing"] = math.log(2)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
