"""Queries that look for one key, near or far: what each branch finds alone, what gates learn, and then the layer."""

import json
import math
from itertools import pairwise

import torch
from torch import Generator, Tensor

from compression import compressed_attention
from layer import NativeSparseAttention
from NSA import nsa

_HEADS, _KEY_HEADS, _WIDTH = 4, 2, 16
_BLOCK = 8
_SELECTED = 3
_WINDOW = 8
_NEAR = 8
_SHARPNESS = 14.0
_TRAINING = (0, 24, 64)
_EVALUATION = (0, 64)


def moments(values: Tensor) -> dict[str, float]:
    """The mean, the mean square, and a mean whose weights grow with the place."""
    values = values.double().flatten()
    places = torch.linspace(0, 1, len(values), dtype=torch.float64)
    return {
        "mean": values.mean().item(),
        "square": values.square().mean().item(),
        "by place": (places * values).mean().item(),
    }


def needles(generator: Generator, bounds: tuple[int, ...], share: float = 0.5) -> dict[str, Tensor]:
    """Packed sequences of states (1, T, width), what each head should read (1, T, heads, head width), and how far back.

    A state is its keys, values and queries side by side, and a mark: 1 where the query looks for one of the last keys,
    -1 where it looks anywhere before that.
    """
    length = bounds[-1]

    def unit(heads: int) -> Tensor:
        drawn = torch.randn(length, heads, _WIDTH, generator=generator)
        return drawn / drawn.norm(dim=-1, keepdim=True)

    keys, values = unit(_KEY_HEADS), unit(_KEY_HEADS)
    place = torch.cat([torch.arange(end - start) for start, end in pairwise(bounds)])
    near = torch.rand(length, generator=generator) < share
    chance = torch.rand(2, length, generator=generator)
    back = torch.where(
        near | (place < _NEAR),
        (chance[0] * place.clamp(max=_NEAR - 1)).long(),
        (_NEAR + chance[1] * (place - _NEAR)).long(),
    )
    wanted = torch.arange(length) - back
    group = torch.arange(_HEADS) // (_HEADS // _KEY_HEADS)
    queries = keys[wanted][:, group]
    mark = torch.where(back < _NEAR, 1.0, -1.0)[:, None]
    states = torch.cat([keys.flatten(1), values.flatten(1), queries.flatten(1), mark], dim=1)
    read = values[wanted][:, group]
    return {"states": states[None], "wanted": read[None], "back": back, "bounds": torch.tensor(bounds)}


def reader(selected: int, window: int) -> NativeSparseAttention:
    """A layer whose projections read keys, values and queries off the state; its gates are all at one half."""
    parts = [_KEY_HEADS * _WIDTH, _KEY_HEADS * _WIDTH, _HEADS * _WIDTH]
    layer = NativeSparseAttention(sum(parts) + 1, _HEADS, _KEY_HEADS, _WIDTH, _BLOCK, selected, window)
    rows = torch.eye(sum(parts) + 1).split([*parts, 1])
    with torch.no_grad():
        layer.key.weight.copy_(rows[0])
        layer.value.weight.copy_(rows[1])
        layer.query.weight.copy_(_SHARPNESS * math.sqrt(_WIDTH) * rows[2])
        layer.gate.weight.zero_()
        layer.gate.bias.zero_()
    return layer


def error(read: Tensor, wanted: Tensor) -> Tensor:
    """The mean squared distance of what heads read from what they should read."""
    return (read - wanted).square().sum(dim=-1).mean()


def compressed_branch(layer: NativeSparseAttention, data: dict[str, Tensor]) -> dict[str, float]:
    """What the compressed branch of the last sequence sees and reads."""
    start, end = data["bounds"][-2:].tolist()
    q, k, v = layer.project(data["states"][:, start:end])
    keys, values = layer.compress_keys(k), layer.compress_values(v)
    read, probabilities = compressed_attention(q, keys, values, _BLOCK)
    place = torch.arange(end - start)
    block = (place - data["back"][start:end]) // _BLOCK
    found = probabilities[0, place, ..., block.clamp(max=keys.shape[1] - 1)]
    return {
        "keys": keys.square().mean().item(),
        "values": values.square().mean().item(),
        "entropy": torch.special.entr(probabilities).sum(dim=-1).mean().item(),
        "wanted_block": found.mean().item(),
        "read": read.square().mean().item(),
        "error": error(read, data["wanted"][:, start:end]).item(),
    }


def fine_branches(layer: NativeSparseAttention, data: dict[str, Tensor]) -> dict[str, dict[str, float]]:
    """What the selected blocks and the window read, each alone, and where their attention goes."""
    q, k, v = layer.project(data["states"])
    bounds, back = data["bounds"], data["back"]
    _, blocks = layer.compress(q, k, v, bounds)
    on, off = torch.ones(q.shape[:3]), torch.zeros(q.shape[:3])
    place = torch.arange(len(back))
    # With the places as values, what is read is the attention.
    places = torch.eye(len(back))[None, :, None].expand(-1, -1, _KEY_HEADS, -1)
    found = {}
    for name, gates in (("selected", (on, off)), ("window", (off, on))):
        options = (*gates, blocks, layer.selected, layer.block_size, layer.window)
        read = nsa(q, k, v, *options, cu_seqlens=bounds)
        attention = nsa(q, k, places, *options, cu_seqlens=bounds)[0]
        wanted = attention[place, :, place - back]
        found[name] = {
            "error": error(read, data["wanted"]).item(),
            "entropy": torch.special.entr(attention).sum(dim=-1).mean().item(),
            "distance": (attention * (place[:, None] - place)[:, None]).sum(dim=-1).mean().item(),
            "wanted_near": wanted[back < _NEAR].mean().item(),
            "wanted_far": wanted[back >= _NEAR].mean().item(),
        }
    return found


def train(layer: NativeSparseAttention, optimizer: torch.optim.Optimizer, data: dict[str, Tensor], steps: int) -> float:
    """Train the parameters of an optimizer to read what is wanted; the loss before the first step."""
    first = 0.0
    for step in range(steps):
        loss = error(layer.attend(data["states"], data["bounds"]), data["wanted"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        first = loss.item() if step == 0 else first
    return first


@torch.no_grad()
def scores(layer: NativeSparseAttention, data: dict[str, Tensor]) -> dict[str, float]:
    """Errors of the gated sum, and the gates, where a near key is wanted and where a far one is."""
    read = layer.attend(data["states"], data["bounds"])
    gates = dict(zip(("compressed", "selected", "window"), layer.gates(data["states"]), strict=True))
    found = {"error": error(read, data["wanted"]).item()}
    for name, rows in (("near", data["back"] < _NEAR), ("far", data["back"] >= _NEAR)):
        found[f"{name}/error"] = error(read[:, rows], data["wanted"][:, rows]).item()
        found |= {f"{name}/{branch}": gate[:, rows].mean().item() for branch, gate in gates.items()}
    return found


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """The data, the branches alone, training of the gates and then of the whole layer, and a longer sequence."""
    data = needles(Generator().manual_seed(seed), _TRAINING)
    layer = reader(_SELECTED, _WINDOW)
    parts = data["states"][0].split([_KEY_HEADS * _WIDTH, _KEY_HEADS * _WIDTH, _HEADS * _WIDTH, 1], dim=1)
    named = dict(zip(("keys", "values", "queries", "mark"), parts, strict=True)) | {"back": data["back"]}
    stages = {"data": {f"{name}/{key}": value for name, part in named.items() for key, value in moments(part).items()}}
    with torch.no_grad():
        stages["compressed branch"] = compressed_branch(layer, data)
        stages["other branches"] = {
            f"{name}/{key}": value for name, found in fine_branches(layer, data).items() for key, value in found.items()
        }

    optimizer = torch.optim.Adam(layer.gate.parameters(), lr=0.4)
    first = train(layer, optimizer, data, 8)
    stages["gates"] = {"first_loss": first} | scores(layer, data)
    stages["gates"]["weights"] = layer.gate.weight.norm().item()

    weights = dict(layer.named_parameters(remove_duplicate=False))
    before = {name: weight.detach().clone() for name, weight in weights.items()}
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.03, momentum=0.9)
    train(layer, optimizer, data, 5)
    moved = {name: (weight.detach() - before[name]).norm().item() for name, weight in weights.items()}
    errors = {name: value for name, value in scores(layer, data).items() if name.endswith("error")}
    # Heads are not mixed here, and one encoding of places shifts all compressed keys alike: neither has a gradient.
    still = ("output.weight", "compress_keys.place")
    stages["whole layer"] = errors | {name: value for name, value in moved.items() if name not in still}

    long = needles(Generator().manual_seed(seed + 2**20), _EVALUATION)
    stages["evaluation"] = scores(layer, long)
    with torch.no_grad():
        read = layer.attend(long["states"], long["bounds"])
    nearest = torch.einsum("bthd,bnhd->bthn", read, long["wanted"]).argmax(dim=-1)[0]
    right = long["wanted"][0, nearest, torch.arange(_HEADS)] == long["wanted"][0]
    stages["rates"] = {"found": right.all(dim=-1).double().mean().item()}
    return stages


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
