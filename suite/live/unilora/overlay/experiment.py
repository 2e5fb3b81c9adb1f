"""Train one vector for all layers of a small network; measure errors by its length, and how lengths are kept."""

import json

import torch
from peft.tuners.unilora import UniLoraConfig, UniLoraLayer, UniLoraModel
from torch import nn

_WIDTH, _RANK, _ROWS, _STEPS, _RATE = 10, 2, 48, 24, 0.5


class _Network(nn.Module):
    """Three linear layers, of which the last is not adapted."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(_WIDTH, 12), nn.Linear(12, _WIDTH)
        self.head = nn.Linear(_WIDTH, 3)

    def forward(self, x):
        return self.head(torch.tanh(self.second(torch.tanh(self.first(x)))))


def _adapted(model, x):
    """Return the output of the network with the updates of all layers added to their weights."""
    weights = {}
    for name, layer in model.model.named_modules():
        if isinstance(layer, UniLoraLayer):
            base = layer.get_base_layer()
            weights[f"{name}.base_layer.weight"] = base.weight + layer.get_delta_weight("a")
    hidden = x
    for name in ("first", "second"):
        bias = model.model.get_submodule(name).get_base_layer().bias
        hidden = torch.tanh(nn.functional.linear(hidden, weights[f"{name}.base_layer.weight"], bias))
    return model.model.head(hidden)


def run(seed: int = 0) -> dict[str, float]:
    """Return errors that are left, ratios of lengths, and differences after merging."""
    torch.manual_seed(seed)
    state = _Network().requires_grad_(False).state_dict()
    x = torch.randn(_ROWS, _WIDTH)
    teacher = _Network().requires_grad_(False)
    teacher.load_state_dict(state)
    for layer in (teacher.first, teacher.second):
        layer.weight.add_(torch.randn(layer.weight.shape[0], _RANK) @ torch.randn(_RANK, layer.weight.shape[1]) / 8)
    wanted = teacher(x)
    results = {}
    for length in (4, 16, 88):
        torch.manual_seed(seed + 1)
        network = _Network().requires_grad_(False)
        network.load_state_dict(state)
        config = UniLoraConfig(_RANK, proj_seed=seed, theta_d_length=length, target_modules=["first", "second"])
        model = UniLoraModel(network, config, "a")
        layers = [layer for layer in model.modules() if isinstance(layer, UniLoraLayer)]
        vector = model.unilora_theta_d["a"]
        with torch.no_grad():
            vector.mul_(20)
            parts = [item.flatten() for layer in layers for item in layer._get_lora_matrices("a")]
            results[f"length {length}/ratio of norms"] = (torch.cat(parts).norm() / vector.norm()).item()
            before = (_adapted(model, x) - wanted).square().mean().item()
        for step in range(_STEPS):
            error = (_adapted(model, x) - wanted).square().mean()
            (slope,) = torch.autograd.grad(error, vector)
            with torch.no_grad():
                vector.sub_(_RATE * (1 - step / _STEPS) * slope / (slope.norm() + 1e-3))
        with torch.no_grad():
            adapted = _adapted(model, x)
            results[f"length {length}/left"] = (adapted - wanted).square().mean().item() / before
            for layer in layers:
                layer.merge()
            hidden = torch.tanh(network.first.base_layer(x))
            merged = network.head(torch.tanh(network.second.base_layer(hidden)))
            results[f"length {length}/merged"] = (merged - adapted).abs().max().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
