"""Keys that come again with other values: what is read is the last value, or a mixture of all of them?"""

import json
import math

import torch
from fla.ops.deltaformer.naive import naive_deltaformer_attn, tril_softmax
from layer import DeltaFormerLayer
from torch import Tensor, nn
from torch.nn import functional as F

_KEYS, _TIMES, _WIDTH, _SYMBOLS, _LENGTH, _STEPS, _ROWS = 6, 3, 16, 5, 9, 10, 12


def _overwrite(generator: torch.Generator) -> dict[str, float]:
    """Each key is written several times; its last writing reads what the memory has under it then."""
    keys = F.normalize(torch.randn(_KEYS, _WIDTH, generator=generator), dim=-1)
    order = torch.cat([torch.randperm(_KEYS, generator=generator) for _ in range(_TIMES)])
    values = torch.randn(1, _KEYS * _TIMES, 1, _WIDTH, generator=generator)
    k = 7.0 * keys[order].view(1, -1, 1, _WIDTH)
    results = {}
    for name, strength in [("all is taken out", None), ("half is taken out", 0.5), ("nothing is taken out", 0.0)]:
        beta = None if strength is None else torch.full((1, _KEYS * _TIMES, 1), strength)
        read = naive_deltaformer_attn(k, k, values, beta)[0, :, 0]
        last, before = [], []
        for key in range(_KEYS):
            places = (order == key).nonzero().flatten()
            last.append(F.cosine_similarity(read[places[-1]], values[0, places[-1], 0], dim=0))
            before.append(F.cosine_similarity(read[places[-1]], values[0, places[0], 0], dim=0))
        results[f"{name}/likeness to the last value"] = torch.stack(last).mean().item()
        results[f"{name}/likeness to the first value"] = torch.stack(before).mean().item()
    scores = (k[0, :, 0] @ k[0, :, 0].T / math.sqrt(_WIDTH)).view(1, 1, len(order), -1)
    same = order[:, None] == order[None, :]
    for strict in (True, False):
        name = "before" if strict else "up to it"
        results[f"weight of the same key {name}"] = (
            tril_softmax(scores, strict=strict)[0, 0][-_KEYS:][same[-_KEYS:]].sum().item() / _KEYS
        )
    return results


class _Exchanges(nn.Module):
    """A symbol is the last one that differed from the present; tokens to that symbol."""

    def __init__(self, corrects: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(_SYMBOLS, 10)
        self.layer = DeltaFormerLayer(10, 2, 5, corrects)
        self.head = nn.Linear(10, _SYMBOLS)

    def forward(self, tokens: Tensor) -> Tensor:
        states = self.embedding(tokens)
        return self.head(states + self.layer(states))


def _train(corrects: bool, seed: int) -> float:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _Exchanges(corrects)
    generator = torch.Generator().manual_seed(seed)

    def sequences(rows: int) -> tuple[Tensor, Tensor]:
        tokens = torch.randint(_SYMBOLS, (rows, _LENGTH), generator=generator)
        wanted, held = [], tokens[:, 0]
        for step in range(_LENGTH):
            earlier = tokens[:, max(step - 1, 0)]
            held = torch.where(earlier != tokens[:, step], earlier, held)
            wanted.append(held)
        return tokens, torch.stack(wanted, dim=1)

    parameters = list(model.parameters())
    speeds = [torch.zeros_like(parameter) for parameter in parameters]
    for _ in range(_STEPS):
        tokens, wanted = sequences(_ROWS)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), wanted.flatten())
        # Where nothing is taken out, nothing depends on what computes the strengths.
        gradients = torch.autograd.grad(loss, parameters, materialize_grads=True)
        norm = torch.stack([gradient.norm() for gradient in gradients]).norm().clamp(min=1.0)
        for parameter, speed, gradient in zip(parameters, speeds, gradients, strict=True):
            speed.mul_(0.5).add_(gradient / norm)
            parameter.data.sub_(0.3 * speed)
    tokens, wanted = sequences(48)
    with torch.no_grad():
        return F.cross_entropy(model(tokens).flatten(0, 1), wanted.flatten()).item()


def run(seed: int = 0) -> dict[str, float]:
    """What is read of keys that come again, and the losses of a layer that learns."""
    results = _overwrite(torch.Generator().manual_seed(seed))
    results["layer/loss"] = _train(True, seed)
    results["layer that takes nothing out/loss"] = _train(False, seed)
    results["loss of guessing"] = math.log(_SYMBOLS)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
