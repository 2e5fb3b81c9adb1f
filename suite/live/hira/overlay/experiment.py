"""Train HiRA and LoRA towards a layer with rescaled channels; compare the errors and the ranks of the updates."""

import json

import torch
from peft.tuners.hira import HiraConfig, Linear
from torch import nn

_WIDTH, _ROWS, _STEPS, _RATE = 14, 48, 32, 0.3


def _rank(matrix):
    """Return the number of singular values above a hundredth of the largest, smoothed by their entropy."""
    values = torch.linalg.svdvals(matrix)
    shares = values / values.sum()
    return torch.special.entr(shares).sum().exp().item()


def _descend(output, wanted, parameters):
    """Minimise the squared error by gradient descent with normalised steps; return its last share of the target."""
    for step in range(_STEPS):
        share = (output() - wanted).square().mean() / wanted.square().mean()
        slopes = torch.autograd.grad(share, parameters)
        norm = torch.stack([slope.square().sum() for slope in slopes]).sum().sqrt()
        with torch.no_grad():
            for parameter, slope in zip(parameters, slopes, strict=True):
                parameter.sub_(_RATE * (1 - step / _STEPS) * slope / (norm + 1e-3))
    with torch.no_grad():
        return ((output() - wanted).square().mean() / wanted.square().mean()).item()


def run(seed: int = 0) -> dict[str, float]:
    """Return errors, ranks of the updates, and how far the merged layer is from the adapted one."""
    torch.manual_seed(seed)
    base = nn.Linear(_WIDTH, _WIDTH).requires_grad_(False)
    outer, inner = 1 + 0.4 * torch.randn(2, _WIDTH)
    x = torch.randn(_ROWS, _WIDTH)
    wanted = (x * inner) @ base.weight.T * outer - x @ base.weight.T
    results = {}
    for rank in (1, 2):
        layer = Linear(base, "a", HiraConfig(r=rank), r=rank)
        results[f"rank {rank}/at the start"] = (layer(x) - base(x)).abs().max().item()
        a = layer.hira_A["a"].detach().clone().requires_grad_()
        b = layer.hira_B["a"].detach().clone().requires_grad_()
        plain = base(x)
        results[f"rank {rank}/HiRA"] = _descend(
            lambda layer=layer, plain=plain: layer(x) - plain, wanted, [layer.hira_A["a"], layer.hira_B["a"]]
        )
        results[f"rank {rank}/LoRA"] = _descend(lambda a=a, b=b: x @ a.T @ b.T, wanted, [a, b])
        weight = base.weight.clone()
        with torch.no_grad():
            adapted = layer(x)
            layer.merge()
            results[f"rank {rank}/merged"] = (layer(x) - adapted).abs().max().item()
            results[f"rank {rank}/rank of HiRA"] = _rank(base.weight - weight)
            results[f"rank {rank}/rank of LoRA"] = _rank(b @ a)
            layer.unmerge()
            results[f"rank {rank}/unmerged"] = (base.weight - weight).abs().max().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
