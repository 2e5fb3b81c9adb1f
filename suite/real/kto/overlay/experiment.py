"""Does the model come to prefer desirable completions, and how far does it go from its reference?"""

import json

import torch
from toy import Table, ToyTrainer, batch_of
from trl.trainer.kto_config import KTOConfig

_TOKENS, _BATCH, _STEPS = 12, 12, 16
_SETTINGS = {
    "balanced": (0.5, {}),
    "large beta": (0.5, {"beta": 1.0}),
    "few are desirable": (0.2, {}),
    "few are desirable, weighted": (0.2, {"desirable_weight": 4.0}),
    "no reference point": (0.5, {"loss_type": "apo_zero_unpaired"}),
}


def _drawn(generator: torch.Generator, share: float, count: int) -> dict:
    """Prompts of a subject from 1 to 4; a desirable answer repeats 4 + subject, any other one is of any tokens."""
    prompts, answers, labels = [], [], []
    for _ in range(count):
        subject, length = (torch.randint(1, 5, (2,), generator=generator)).tolist()
        labels.append(torch.rand((), generator=generator).item() < share)
        drawn = torch.randint(5, _TOKENS, (length,), generator=generator).tolist()
        answers.append([4 + subject] * length if labels[-1] else drawn)
        prompts.append([subject, *torch.randint(9, _TOKENS, (subject % 3,), generator=generator).tolist()])
    return batch_of(prompts, answers, labels)


def run(seed: int = 0) -> dict[str, float]:
    """Losses, estimates of the reference point and rewards by setting, after training."""
    results = {}
    for name, (share, settings) in _SETTINGS.items():
        generator = torch.Generator().manual_seed(seed)
        model = Table(_TOKENS)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
        trainer = ToyTrainer(model, KTOConfig(**({"beta": 0.2} | settings)))
        logged = [trainer.step(_drawn(generator, share, _BATCH), rate=14.0) for _ in range(_STEPS)]
        loss, metrics = trainer.get_batch_loss_metrics(model, _drawn(generator, 0.5, 80))
        results |= {
            f"{name}/loss": loss.item(),
            f"{name}/largest reference point": max(item["kl"] for item in logged),
            f"{name}/last reference point": metrics["kl"],
        }
        for kind in ("chosen", "rejected"):
            results[f"{name}/reward, {kind}"] = metrics[f"rewards/{kind}_sum"] / metrics[f"count/{kind}"]
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
