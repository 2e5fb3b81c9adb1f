"""What does a memory of slots say that a fact is, after the fact has changed, and how far back does a layer see?"""

import json

import torch
from fla.ops.gsa.naive import naive_recurrent_gsa
from layer import GatedSlots

_FACTS, _WIDTH, _STREAMS = 4, 8, 6


def _recall(generator: torch.Generator, changes: int) -> dict[str, float]:
    """Mean cosine of what is read and the newest value of a fact, for memories that forget and such that do not."""
    length = _FACTS * changes
    # Every fact has a key and a slot of its own; its value changes each time that the stream comes back to it.
    keys = 6 * torch.eye(_FACTS, _WIDTH)
    order = torch.stack(
        [torch.cat([torch.randperm(_FACTS, generator=generator) for _ in range(changes)]) for _ in range(_STREAMS)]
    )
    values = torch.randn(_STREAMS, length, 1, _WIDTH, generator=generator)
    own = torch.nn.functional.one_hot(order, _FACTS).float().unsqueeze(2)
    # The last tokens ask for one fact after the other, and write to no slot.
    asked = torch.arange(_FACTS).expand(_STREAMS, -1)
    k = torch.cat([keys[order], torch.zeros(_STREAMS, _FACTS, _WIDTH)], dim=1).unsqueeze(2)
    q = keys[torch.cat([order, asked], dim=1)].unsqueeze(2)
    v = torch.cat([values, torch.zeros(_STREAMS, _FACTS, 1, _WIDTH)], dim=1)
    silent = torch.zeros(_STREAMS, _FACTS, 1, _FACTS)
    written = torch.cat([own, silent], dim=1)
    alpha = 1 - 0.9 * written
    memories = {
        "gated": {"s": 1 - alpha, "g": alpha.log()},
        "no forgetting": {"s": written, "g": torch.zeros_like(written)},
        "running mean": {"s": 20 * (written - 1)},
    }
    places = torch.stack([(order == fact).float().cumsum(1).argmax(1) for fact in range(_FACTS)], dim=1)
    newest = values.squeeze(2).gather(1, places.unsqueeze(-1).expand(-1, -1, _WIDTH))
    results = {}
    for name, memory in memories.items():
        read, _ = naive_recurrent_gsa(q, k, v, **memory)
        cosine = torch.cosine_similarity(read[:, -_FACTS:, 0], newest, dim=-1)
        results[f"{changes} values of a fact/{name}"] = cosine.mean().item()
    return results


def _reach(seed: int, temperature: float, length: int = 24) -> dict[str, float]:
    """How much the last output depends on tokens far back, over how much it does on the last ones."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = GatedSlots(width=8, slots=4, groups=2, temperature=temperature)
        x = torch.randn(4, length, 8)
    middle = length // 2
    x.requires_grad_()
    _, state = layer(x[:, :middle])
    out, _ = layer(x[:, middle:], state)
    (gradient,) = torch.autograd.grad(out[:, -1].square().sum(), x)
    norms = gradient.norm(dim=-1).mean(0)
    return {f"temperature {temperature:g}/far over near": (norms[:middle].mean() / norms[middle:-1].mean()).item()}


def run(seed: int = 0) -> dict[str, float]:
    """Recall by the number of changes and the kind of memory, and reach by the temperature of the gates."""
    generator = torch.Generator().manual_seed(seed)
    results = {}
    for changes in (1, 3, 6):
        results |= _recall(generator, changes)
    for temperature in (1.0, 8.0):
        results |= _reach(seed, temperature)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
