"""Facts that change, cups that are swapped, and a layer that learns: what the removal of RWKV-7's state is for."""

import json
import math

import torch
from fla.ops.generalized_delta_rule.dplr.naive import dplr_recurrence
from time_mixing import TimeMixing
from torch import Tensor, nn
from torch.nn import functional as F

_WIDTH, _FACTS, _STREAMS, _TIMES = 16, 6, 4, 3
_SYMBOLS, _LENGTH, _STEPS, _ROWS = 4, 8, 12, 8


def _facts(generator: torch.Generator) -> dict[str, float]:
    """Facts told three times, each time with another value: how far what is read lies from the last and the first."""
    keys = F.normalize(torch.randn(_STREAMS, 1, _FACTS, _WIDTH, generator=generator), dim=-1)
    values = torch.randn(_STREAMS, _TIMES, _FACTS, _WIDTH, generator=generator)
    k = keys.repeat(1, 1, _TIMES, 1)
    v = values.reshape(_STREAMS, 1, -1, _WIDTH)
    half = torch.zeros(_WIDTH)
    half[: _WIDTH // 2] = 1.0
    ways = {
        "all is removed": (torch.ones(_WIDTH), 0.0),
        "nothing is removed": (torch.zeros(_WIDTH), 0.0),
        "half of the channels remove": (half, 0.0),
        "decay alone": (torch.zeros(_WIDTH), -math.exp(-0.5)),
        "both": (torch.ones(_WIDTH), -0.1),
    }
    results = {}
    for name, (rate, decay) in ways.items():
        _, memory = dplr_recurrence(k, k, v, -k, k * rate, torch.full_like(k, decay))
        asked = keys * _WIDTH**0.5
        still = torch.zeros_like(asked)
        read, nothing = dplr_recurrence(asked, still, torch.zeros_like(asked), still, still, still, memory, False)
        assert nothing is None
        for which, wanted in [("last", values[:, -1]), ("first", values[:, 0])]:
            results[f"{name}/error of the {which}"] = ((read[:, 0] - wanted).norm() / wanted.norm()).item()
    return results


def _cups(generator: torch.Generator, cups: int = 5, swaps: int = 24) -> dict[str, float]:
    """A state that begins as the identity, and swaps of two cups as transitions: is each cup where it should be?"""
    places = torch.stack([torch.randperm(cups, generator=generator)[:2] for _ in range(swaps)])
    order = list(range(cups))
    for one, other in places.tolist():
        order[one], order[other] = order[other], order[one]
    difference = F.one_hot(places[:, 0], cups) - F.one_hot(places[:, 1], cups)
    key = (difference / 2**0.5).view(1, 1, swaps, cups)
    still = torch.zeros_like(key)
    results = {}
    for rate in (2.0, 1.0):
        _, state = dplr_recurrence(still, still, still, -key, rate * key, still, torch.eye(cups).view(1, 1, cups, cups))
        in_place = state[0, 0][torch.arange(cups), torch.tensor(order)]
        # Where cups have been mixed, several places may have equal weights.
        results[f"cups, rate {rate:g}/share in place"] = (in_place > 0.9).double().mean().item()
        results[f"cups, rate {rate:g}/weight in place"] = in_place.mean().item()
    return results


class _Reader(nn.Module):
    """Symbols and blanks; a blank asks for the symbol that was written last."""

    def __init__(self, removing: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(_SYMBOLS + 1, 16)
        self.layer = TimeMixing(16, 2, removing)
        self.head = nn.Linear(16, _SYMBOLS)

    def forward(self, tokens: Tensor) -> Tensor:
        states = self.embedding(tokens)
        return self.head(states + self.layer(states)[0])


def _train(removing: bool, seed: int) -> float:
    """The loss of naming the symbol that was written last, after a few steps."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _Reader(removing)
    generator = torch.Generator().manual_seed(seed)

    def sequences(rows: int) -> tuple[Tensor, Tensor]:
        tokens = torch.randint(_SYMBOLS, (rows, _LENGTH), generator=generator)
        blank = torch.rand(rows, _LENGTH, generator=generator) < 0.5
        blank[:, 0] = False
        places = torch.arange(_LENGTH).expand(rows, -1).masked_fill(blank, 0)
        return tokens.masked_fill(blank, _SYMBOLS), tokens.gather(1, places.cummax(dim=1).values)

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    for _ in range(_STEPS):
        tokens, last = sequences(_ROWS)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), last.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    tokens, last = sequences(48)
    with torch.no_grad():
        return F.cross_entropy(model(tokens).flatten(0, 1), last.flatten()).item()


def run(seed: int = 0) -> dict[str, float]:
    """What states hold whose keys are written by hand, and the losses of a layer that learns its own."""
    generator = torch.Generator().manual_seed(seed)
    results = {**_facts(generator), **_cups(generator)}
    results["layer/loss"] = _train(True, seed)
    results["layer without removal/loss"] = _train(False, seed)
    results["loss of guessing"] = math.log(_SYMBOLS)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
