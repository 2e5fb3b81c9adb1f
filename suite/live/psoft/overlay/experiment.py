"""Turn the principal subspace of a layer towards a target; measure errors, and the angles that are kept."""

import json

import torch
from peft.tuners.psoft import Linear, PsoftConfig
from torch import nn

_INPUTS, _OUTPUTS, _RANK, _ROWS, _STEPS, _RATE = 12, 9, 5, 40, 20, 0.5


def _cosines(weight):
    """Return the cosines between the rows of a matrix."""
    rows = nn.functional.normalize(weight, dim=1)
    return rows @ rows.T


def _adapted(layer, x):
    """Return the output of the base layer with the adapter's change of the weight."""
    base = layer.get_base_layer()
    return nn.functional.linear(x, base.weight + layer.get_delta_weight("a"), base.bias)


def _left(output, wanted, before):
    return (output - wanted).square().mean() / (before - wanted).square().mean()


def run(seed: int = 0) -> dict[str, float]:
    """Return the shares of the change that are not reached, and changes of angles, by kind of adapter."""
    torch.manual_seed(seed)
    base = nn.Linear(_INPUTS, _OUTPUTS).requires_grad_(False)
    left, _values, right = torch.linalg.svd(base.weight, full_matrices=False)
    base.weight.copy_(left * torch.linspace(3, 0.3, _OUTPUTS) @ right)
    skew = 0.25 * torch.randn(_INPUTS, _INPUTS)
    # The target turns all inputs, so a part of it lies outside of the subspace.
    x = torch.randn(_ROWS, _INPUTS)
    wanted = base(x @ torch.matrix_exp(skew - skew.T))
    before = base(x)
    results = {}
    for name, settings in {
        "orthogonal": {"psoft_mag_a": False, "psoft_mag_b": False},
        "orthogonal, pissa": {"psoft_mag_a": False, "psoft_mag_b": False, "ab_svd_init": "pissa_init"},
        "series": {"psoft_mag_a": False, "psoft_mag_b": False, "use_cayley_neumann": True},
        "with vectors": {},
    }.items():
        layer = Linear(base, "a", PsoftConfig(r=_RANK, psoft_alpha=2 * _RANK, **settings))
        results[f"{name}/at the start"] = (_adapted(layer, x) - before).abs().max().item()
        parameters = list(layer.psoft_R.parameters())
        for step in range(_STEPS):
            slopes = torch.autograd.grad(_left(_adapted(layer, x), wanted, before), parameters)
            norm = torch.stack([slope.square().sum() for slope in slopes]).sum().sqrt()
            with torch.no_grad():
                for parameter, slope in zip(parameters, slopes, strict=True):
                    parameter.sub_(_RATE * (1 - step / _STEPS) * slope / (norm + 0.1))
        with torch.no_grad():
            results[f"{name}/left"] = _left(_adapted(layer, x), wanted, before).item()
            matrix = layer.psoft_R["a"].get_matrix()
            results[f"{name}/from orthogonal"] = (matrix @ matrix.T - torch.eye(_RANK)).norm().item()
            a, b = layer._psoft_A_cache["a"], layer._psoft_B_cache["a"]
            # The columns of the weight as the paper writes it are the rows of the layer's weight.
            results[f"{name}/change of angles"] = (_cosines(b @ matrix @ a) - _cosines(b @ a)).abs().max().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
