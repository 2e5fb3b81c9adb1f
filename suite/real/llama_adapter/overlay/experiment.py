"""What does a frozen decoder lose when prompts are put in, and what do they learn, by the gates they start from?"""

import json

import torch
from llama import Llama
from peft.tuners.adaption_prompt import AdaptionPromptConfig, AdaptionPromptModel
from torch import nn

_WORDS, _STEPS = 9, 6


def run(seed: int = 0) -> dict[str, float]:
    """Differences and losses at the start, after training, and without the prompts, by start and number of layers."""
    results = {}
    for start in ("zero", "random"):
        for layers in (1, 3):
            torch.manual_seed(seed)
            model = Llama(_WORDS, 16, 4, 2, 3)
            tokens = torch.randint(_WORDS, (6, 10))
            answers = (2 * tokens + 1) % _WORDS
            with torch.no_grad():
                before = model(tokens)
            config = AdaptionPromptConfig(adapter_len=5, adapter_layers=layers)
            adapted = AdaptionPromptModel(model, {"a": config}, "a")
            trained = {name: item for name, item in adapted.named_parameters() if item.requires_grad}
            gates = [item for name, item in trained.items() if name.endswith("gate")]
            if start == "random":
                with torch.no_grad():
                    for gate in gates:
                        gate.normal_()
            name = f"{start} gates, {layers} layers"
            results[f"{name}/change at the start"] = (adapted(tokens) - before).detach().abs().mean().item()
            optimizer = torch.optim.SGD(trained.values(), lr=0.5)
            losses = []
            for _ in range(_STEPS):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(adapted(tokens).flatten(0, 1), answers.flatten())
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            results[f"{name}/first loss"] = losses[0]
            results[f"{name}/last loss"] = losses[-1]
            results[f"{name}/gates"] = torch.stack(gates).abs().mean().item()
            adapted.disable_adapter_layers()
            results[f"{name}/change without"] = (adapted(tokens) - before).detach().abs().mean().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
