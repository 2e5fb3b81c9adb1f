"""What was written under a key within the last steps? Heads of several decays tell more than any one of them."""

import json

import torch
from memory import fitted, read_at_all_speeds
from torch import Tensor
from torch.nn import functional as F

_KEYS, _LENGTH, _ROWS, _SPEEDS = 4, 192, 24, 6
_HORIZONS = (4, 32, 128)


def _streams(generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """The key that each step asks for, the key under which it writes, both one-hot, and the number that it writes."""
    asked, written = torch.randint(_KEYS, (2, _ROWS, _LENGTH), generator=generator)
    values = torch.randn(_ROWS, _LENGTH, 1, generator=generator)
    return F.one_hot(asked, _KEYS).float(), F.one_hot(written, _KEYS).float(), values


def _within(asked: Tensor, keys: Tensor, values: Tensor, horizon: int) -> Tensor:
    """For each step the sum of what the last `horizon` steps wrote under the key that it asks for."""
    sums = F.pad((keys * values).double().cumsum(dim=1), (0, 0, horizon, 0))
    return ((sums[:, horizon:] - sums[:, :-horizon]) * asked).sum(dim=-1).flatten()


def run(seed: int = 0) -> dict[str, float]:
    """The share of the variance in new streams that a linear reading explains, by horizon and heads."""
    generator = torch.Generator().manual_seed(seed)
    seen, new = _streams(generator), _streams(generator)
    before, after = (read_at_all_speeds(*streams, _SPEEDS).flatten(2).flatten(0, 1) for streams in (seen, new))
    readings = {"first head": slice(0, 1), "last head": slice(_SPEEDS - 1, None), "all heads": slice(None)}
    results = {}
    for horizon in _HORIZONS:
        targets, wanted = _within(*seen, horizon), _within(*new, horizon)
        for name, heads in readings.items():
            guess = after[:, heads].double() @ fitted(before[:, heads], targets)
            unexplained = (guess - wanted).square().mean() / wanted.square().mean()
            results[f"{horizon} steps/{name}"] = 1 - unexplained.item()
    # How much of what is read at the end was written in the first half, if all keys and values are alike.
    same = torch.ones(1, _LENGTH, _KEYS)
    early = (torch.arange(_LENGTH) < _LENGTH // 2).float()[None, :, None]
    kept, written = (read_at_all_speeds(same, same, item, _SPEEDS)[0, -1] for item in (early, same[..., :1]))
    for head in range(_SPEEDS):
        results[f"share of the first half/head {head}"] = (kept / written)[head].item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
