"""How near do products of butterfly factors come to a rotation that mixes all inputs, and what do they keep?"""

import json

import torch
from peft.tuners.boft import Linear
from torch import nn

_WIDTH, _BLOCK, _STEPS = 16, 4, 40


def _cosines(weight):
    rows = nn.functional.normalize(weight, dim=1)
    return rows @ rows.T


def run(seed: int = 0) -> dict[str, float]:
    """The share of the wanted change of outputs that is not reached, by the number of factors; parameters; angles."""
    torch.manual_seed(seed)
    weight = torch.randn(_WIDTH, _WIDTH, dtype=torch.float64)
    skew = 0.15 * torch.randn(_WIDTH, _WIDTH, dtype=torch.float64)
    mixing = torch.linalg.matrix_exp(skew - skew.T)
    x = torch.randn(64, _WIDTH, dtype=torch.float64)
    results = {}
    for factors in (1, 2, 3):
        base = nn.Linear(_WIDTH, _WIDTH, dtype=torch.float64)
        base.weight.data.copy_(weight)
        layer = Linear(base, "a", boft_block_size=_BLOCK, boft_n_butterfly_factor=factors, boft_dropout=0.0).double()
        wanted = x @ mixing @ weight.T + base.bias.detach()
        apart = (base(x).detach() - wanted).square().sum()
        optimizer = torch.optim.Adam([layer.boft_R["a"]], lr=0.1)
        for _ in range(_STEPS):
            optimizer.zero_grad()
            left = (layer(x) - wanted).square().sum() / apart
            left.backward()
            optimizer.step()
        results[f"{factors} factors/left"] = left.item()
        rotation, _ = layer.get_delta_weight("a")
        rotation = rotation.detach()
        results[f"{factors} factors/entries"] = (rotation.abs() > 1e-9).double().mean().item()
        results[f"{factors} factors/from orthogonal"] = (rotation @ rotation.T - torch.eye(_WIDTH)).abs().max().item()
        results[f"{factors} factors/parameters"] = factors * _WIDTH * (_BLOCK - 1) / 2
        layer.merge()
        results[f"{factors} factors/change of angles"] = (_cosines(base.weight) - _cosines(weight)).abs().max().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
