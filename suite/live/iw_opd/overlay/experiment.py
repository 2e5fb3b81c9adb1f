"""What does a student learn from early and late tokens of its own texts, by the emphasis on early ones?"""

import json

import torch
from toy import Table, trainer_of

_WORDS, _PROMPT, _LENGTH, _ROWS, _STEPS = 6, 2, 8, 24, 8


def _distances(student, teacher, words):
    """Mean divergence from the student to the teacher in the first and the last half of texts."""
    with torch.no_grad():
        first, second = (model(words).logits[:, _PROMPT - 1 : -1].log_softmax(-1) for model in (student, teacher))
        distances = (first.exp() * (first - second)).sum(-1).mean(0)
    return {"early": distances[: _LENGTH // 2].mean().item(), "late": distances[_LENGTH // 2 :].mean().item()}


def run(seed: int = 0) -> dict[str, float]:
    """Divergences before and after training, and the weights that tokens got."""
    results = {}
    for gamma in (0.0, 0.5, 4.0):
        generator = torch.Generator().manual_seed(seed)
        teacher, student = Table(_WORDS, 1.5, generator), Table(_WORDS, 0.5, generator)
        trainer = trainer_of(student, teacher, iw_opd_gamma=gamma)
        for step in range(_STEPS):
            prompts = torch.randint(_WORDS, (_ROWS, _PROMPT), generator=generator)
            words, logps = student.write(prompts, _LENGTH, generator)
            labels = words.clone()
            labels[:, :_PROMPT] = -100
            if not step:
                results |= {f"{name} before": value for name, value in _distances(student, teacher, words).items()}
            rollout = torch.cat([torch.zeros(_ROWS, _PROMPT), logps], dim=1)
            inputs = {"input_ids": words, "attention_mask": torch.ones_like(words), "labels": labels}
            for _ in range(2):
                loss = trainer.compute_loss(student, inputs | {"rollout_logprobs": rollout})
                (slope,) = torch.autograd.grad(loss, student.table)
                student.table.data.sub_(2.0 * slope)
        results |= {f"gamma {gamma}/{name} after": value for name, value in _distances(student, teacher, words).items()}
        metrics = trainer._metrics["train"]
        for name in ("mean_weight", "min_weight", "max_weight", "mean_abs_advantage"):
            results[f"gamma {gamma}/{name}"] = sum(metrics[f"iw_opd/{name}"]) / len(metrics[f"iw_opd/{name}"])
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
