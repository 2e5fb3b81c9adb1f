"""Compare gates that start at zero with random gates: what a frozen decoder loses at first, and what prompts learn."""

import json

import torch
from llama import Llama
from peft.tuners.adaption_prompt import AdaptionPromptConfig, AdaptionPromptModel
from torch import nn

_WORDS, _STEPS, _RATE = 9, 3, 20.0


def run(seed: int = 0) -> dict[str, float]:
    """Differences and losses at the start, after training, and without the prompts, by start and number of layers."""
    results = {}
    for start, layers in (("zero", 1), ("zero", 3), ("random", 3)):
        torch.manual_seed(seed)
        model = Llama(_WORDS, 16, 4, 2, 3)
        tokens = torch.randint(_WORDS, (6, 10))
        answers = (2 * tokens + 1) % _WORDS
        with torch.no_grad():
            before = model(tokens)
        config = AdaptionPromptConfig(adapter_len=5, adapter_layers=layers)
        adapted = AdaptionPromptModel(model, {"a": config}, "a")
        trained = {name: item for name, item in adapted.named_parameters() if item.requires_grad}
        torch.manual_seed(seed + 1)
        with torch.no_grad():
            for name, item in sorted(trained.items()):
                if name.endswith("prompt"):
                    item.copy_(torch.randn(item.shape))
        gates = [item for name, item in trained.items() if name.endswith("gate")]
        if start == "random":
            with torch.no_grad():
                for gate in gates:
                    gate.normal_()
        name = f"{start} gates, {layers} layers"
        results[f"{name}/change at the start"] = (adapted(tokens) - before).detach().abs().mean().item()
        losses = []
        for _ in range(_STEPS):
            adapted.zero_grad()
            loss = nn.functional.cross_entropy(adapted(tokens).flatten(0, 1), answers.flatten())
            loss.backward()
            with torch.no_grad():
                for item in trained.values():
                    item -= _RATE * item.grad
            losses.append(loss.item())
        results[f"{name}/first loss"] = losses[0]
        results[f"{name}/last loss"] = losses[-1]
        results[f"{name}/gates"] = torch.stack(gates).abs().mean().item()
        adapted.disable_adapter_layers()
        results[f"{name}/change without"] = (adapted(tokens) - before).detach().abs().mean().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
