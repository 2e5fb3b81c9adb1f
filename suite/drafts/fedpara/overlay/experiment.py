"""How near do updates of LoHa come to random matrices, beside those of one low-rank product with as many parameters?"""

import json

import torch
from peft.tuners.loha import Conv2d, Linear
from torch import nn

_WIDTH, _STEPS = 16, 50


def _distance(update, target):
    return ((update - target).square().sum() / target.square().sum()).item()


def _fitted(layer, target):
    """What is left of a target after the adapter was fitted to it, and the rank of its update."""
    parameters = [item for name, item in layer.named_parameters() if "hada" in name]
    if layer.hada_t1:
        # With cores, the factors of the outputs stay as they are drawn.
        parameters = [
            item for name, item in layer.named_parameters() if name[:7] in ("hada_t1", "hada_t2") or "_b." in name
        ]
    optimizer = torch.optim.Adam(parameters, lr=0.1)
    for _ in range(_STEPS):
        optimizer.zero_grad()
        (layer.get_delta_weight("a") - target).square().sum().backward()
        optimizer.step()
    update = layer.get_delta_weight("a").detach()
    return _distance(update, target), torch.linalg.matrix_rank(update.flatten(1), rtol=1e-9).item()


def run(seed: int = 0) -> dict[str, float]:
    """The share of the target that is not reached, by rank and kind, and the ranks of the updates."""
    torch.manual_seed(seed)
    target = torch.randn(_WIDTH, _WIDTH, dtype=torch.float64)
    values = torch.linalg.svdvals(target).square()
    results = {}
    for rank in (1, 2, 4):
        base = nn.Linear(_WIDTH, _WIDTH, bias=False, dtype=torch.float64)
        layer = Linear(base, adapter_name="a", r=rank, alpha=2.0 * rank, init_weights=False)
        left, reached = _fitted(layer, target)
        results[f"rank {rank}/left"] = left
        results[f"rank {rank}/rank of the update"] = float(reached)
        # The best matrix of rank 2r has as many parameters as both products of rank r.
        results[f"rank {rank}/left by one product"] = (values[2 * rank :].sum() / values.sum()).item()
    # Outputs with the update apart, and after it has been merged into the weight.
    layer.eval()
    x = torch.randn(5, _WIDTH, dtype=torch.float64)
    with torch.no_grad():
        apart = base(x) + x @ layer.get_delta_weight("a").T
        layer.merge()
        results["merged/difference"] = (base(x) - apart).abs().max().item()
        results["merged/size"] = apart.square().mean().item()
    kernels = torch.randn(6, 5, 3, 3, dtype=torch.float64)
    for effective in (False, True):
        base = nn.Conv2d(5, 6, 3, bias=False, dtype=torch.float64)
        layer = Conv2d(base, adapter_name="a", r=2, alpha=4.0, use_effective_conv2d=effective, init_weights=False)
        name = "with a core" if effective else "as a matrix"
        results[f"kernels {name}/left"] = _fitted(layer, kernels)[0]
        results[f"kernels {name}/parameters"] = float(
            sum(item.numel() for item in layer.parameters()) - kernels.numel()
        )
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
