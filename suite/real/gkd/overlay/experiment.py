"""How does a small student write after distillation on given texts, on its own, and on both?"""

import json
import random

import torch
from toy import PAD, Table, trainer_of
from transformers import GenerationConfig

_TOKENS, _ROWS, _LENGTH, _STEPS = 16, 12, 8, 8
_SETTINGS = {
    "given texts": {"lmbda": 0.0, "beta": 0.9},
    "own texts": {"lmbda": 1.0, "beta": 0.9},
    "both": {"lmbda": 0.5, "beta": 0.9},
    "own texts, small beta": {"lmbda": 1.0, "beta": 0.0},
}


def _batch(texts: torch.Tensor) -> dict[str, torch.Tensor]:
    """Inputs of a training step: prompts are the first two tokens."""
    labels = texts.masked_fill(texts == PAD, -100)
    labels[:, :2] = -100
    return {"input_ids": texts, "attention_mask": (texts != PAD).long(), "labels": labels, "prompts": texts[:, :2]}


def run(seed: int = 0) -> dict[str, float]:
    """Both divergences of student and teacher, per token, on new texts of either, and the share of own texts."""
    results = {}
    for name, settings in _SETTINGS.items():
        generator = torch.Generator().manual_seed(seed)
        random.seed(seed)
        torch.manual_seed(seed)
        teacher, student = Table(_TOKENS, _TOKENS, generator, 0.7), Table(_TOKENS, 2, generator, 0.3)
        trainer = trainer_of(student, teacher, max_new_tokens=_LENGTH, temperature=1.0, **settings)
        plain = GenerationConfig(max_new_tokens=_LENGTH, temperature=1.0)
        prompts = torch.randint(2, _TOKENS, (_ROWS, 2), generator=generator)
        given = [teacher.generate(prompts, None, plain, True).sequences for _ in range(2)]
        own = 0
        for step in range(_STEPS):
            inputs = _batch(given[step % 2])
            student.zero_grad()
            trainer.training_step(student, inputs)
            own += inputs["input_ids"] is not given[step % 2]
            with torch.no_grad():
                for parameter in student.parameters():
                    parameter -= 2.0 * parameter.grad
        results[f"{name}/share of own texts"] = own / _STEPS
        new = torch.randint(2, _TOKENS, (40, 2), generator=generator)
        for writer, model in (("teacher", teacher), ("student", student)):
            inputs = _batch(model.generate(new, None, plain, True).sequences)
            for beta in (0.0, 1.0):
                trainer.beta = beta
                with torch.no_grad():
                    results[f"{name}/texts of the {writer}/beta {beta:.0f}"] = trainer.compute_loss(
                        student, inputs
                    ).item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
