"""Three layers need increments of different ranks: what does a budget reach that is moved to where it is needed?"""

import json

import torch
from peft.tuners.adalora import AdaLoraConfig, RankAllocator, SVDLinear
from torch import nn

_WIDTH, _RANKS, _STEPS = 12, (6, 2, 1), 56
_SETTINGS = {"tinit": 8, "tfinal": 16, "deltaT": 2, "total_step": _STEPS, "beta1": 0.85, "beta2": 0.9}


def _orthogonality(model):
    parts = [item @ item.T for name, item in model.named_parameters() if "lora_A" in name]
    parts += [item.T @ item for name, item in model.named_parameters() if "lora_B" in name]
    return sum((part - torch.eye(len(part))).square().sum() for part in parts)


def _allocate(allocator, model, step):
    """What the package's AdaLoraModel does after each step of the optimizer."""
    config = allocator.peft_config
    if step < config.total_step - config.tfinal:
        _, pattern = allocator.update_and_allocate(model, step)
        config.rank_pattern = pattern or config.rank_pattern
    elif step == config.total_step - config.tfinal:
        _, config.rank_pattern = allocator.update_and_allocate(model, step, force_mask=True)
        allocator.reset_ipt()
    else:
        allocator.mask_using_rank_pattern(model, config.rank_pattern)


def _fit(model, x, changes, allocator):
    optimizer = torch.optim.Adam([item for name, item in model.named_parameters() if "lora_" in name], lr=0.06)
    size = sum(change.square().sum() for change in changes)
    for step in range(_STEPS):
        optimizer.zero_grad()
        left = sum(
            (layer(x) - layer.base_layer(x).detach() - change).square().sum()
            for layer, change in zip(model, changes, strict=True)
        )
        (left / size + 1e-3 * _orthogonality(model)).backward()
        optimizer.step()
        if allocator is not None:
            _allocate(allocator, model, step)
    return (left / size).item()


def run(seed: int = 0) -> dict[str, float]:
    """The share of the wanted changes that is not reached, and the triplets that each layer keeps."""
    torch.manual_seed(seed)
    x = torch.randn(48, _WIDTH, dtype=torch.float64)
    changes = [
        x @ torch.randn(_WIDTH, rank, dtype=torch.float64) @ torch.randn(rank, _WIDTH, dtype=torch.float64)
        for rank in _RANKS
    ]
    results = {}
    for name, rank in (("moved", 6), ("even", 3)):
        model = nn.ModuleList(
            SVDLinear(nn.Linear(_WIDTH, _WIDTH, dtype=torch.float64), "default", r=rank, lora_alpha=4 * rank)
            for _ in _RANKS
        )
        for layer in model:
            nn.init.normal_(layer.lora_A["default"], std=0.3)
            nn.init.normal_(layer.lora_B["default"], std=0.3)
        allocator = None
        if name == "moved":
            allocator = RankAllocator(model, AdaLoraConfig(target_r=3, init_r=rank, **_SETTINGS), "default")
        results[f"{name}/left"] = _fit(model, x, changes, allocator)
        for number, layer in enumerate(model):
            results[f"{name}/kept by layer {number}"] = (layer.lora_E["default"] != 0).sum().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
