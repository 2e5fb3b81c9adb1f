"""Queries that look for one key, near or far: what each branch finds alone, and what the gates learn."""

import json
import math

import torch
from torch import Tensor

from layer import NativeSparseAttention
from NSA import nsa

_HEADS, _KEY_HEADS, _WIDTH = 4, 2, 16
_LENGTH, _BLOCK, _SELECTED, _WINDOW = 64, 8, 3, 8
_SHARPNESS = 14.0
_STEPS, _RATE = 10, 0.4


def needles(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Two packed sequences of states (1, T, width) and what each head should read (1, T, heads, head width).

    A state is its keys, values and queries side by side, and a mark: 1 where the query looks for a key in the window,
    -1 where it looks anywhere before that.
    """

    def unit(heads: int) -> Tensor:
        drawn = torch.randn(_LENGTH, heads, _WIDTH, generator=generator)
        return drawn / drawn.norm(dim=-1, keepdim=True)

    keys, values = unit(_KEY_HEADS), unit(_KEY_HEADS)
    place = torch.arange(_LENGTH) % (_LENGTH // 2)
    near = torch.rand(_LENGTH, generator=generator) < 0.5
    back = torch.where(
        near | (place < _WINDOW),
        (torch.rand(_LENGTH, generator=generator) * place.clamp(max=_WINDOW - 1)).long(),
        (_WINDOW + torch.rand(_LENGTH, generator=generator) * (place - _WINDOW)).long(),
    )
    wanted = torch.arange(_LENGTH) - back
    group = torch.arange(_HEADS) // (_HEADS // _KEY_HEADS)
    queries = keys[wanted][:, group]
    mark = torch.where(back < _WINDOW, 1.0, -1.0)[:, None]
    states = torch.cat([keys.flatten(1), values.flatten(1), queries.flatten(1), mark], dim=1)
    return states[None], values[wanted][:, group][None]


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


def run(seed: int = 0) -> dict[str, float]:
    """Mean squared errors: of the two branches alone, of all with equal gates, and with learned ones."""
    generator = torch.Generator().manual_seed(seed)
    states, wanted = needles(generator)
    cu_seqlens = torch.tensor([0, _LENGTH // 2, _LENGTH])
    layer = reader(_SELECTED, _WINDOW)

    def error(read: Tensor) -> Tensor:
        return (read - wanted).square().sum(dim=-1).mean()

    q = layer.query(states).unflatten(2, (_HEADS, -1))
    k = layer.key(states).unflatten(2, (_KEY_HEADS, -1))
    v = layer.value(states).unflatten(2, (_KEY_HEADS, -1))
    _, blocks = layer.compress(q, k, v, cu_seqlens)
    on, off = torch.ones(q.shape[:3]), torch.zeros(q.shape[:3])
    metrics = {}
    for name, g_slc, g_swa in (("selected blocks", on, off), ("window", off, on)):
        read = nsa(q, k, v, g_slc, g_swa, blocks, _SELECTED, _BLOCK, _WINDOW, cu_seqlens=cu_seqlens)
        metrics[name] = error(read).item()
    optimizer = torch.optim.Adam(layer.gate.parameters(), lr=_RATE)
    for step in range(_STEPS):
        loss = error(layer.attend(states, cu_seqlens))
        if step == 0:
            metrics["gates alike"] = loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    metrics["gates learned"] = error(layer.attend(states, cu_seqlens)).item()
    return metrics


if __name__ == "__main__":
    print(json.dumps(run()))
