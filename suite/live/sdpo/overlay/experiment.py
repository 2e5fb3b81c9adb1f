"""How fast does a policy learn from feedback, by the words over which it is distilled?"""

import json

import torch
from trainer import Policy, Trainer
from trl.experimental.sdpo.loss_utils import (
    compute_full_logit_self_distillation_loss,
    compute_topk_self_distillation_loss,
)

_QUESTIONS, _WORDS, _ROWS, _STEPS = 4, 12, 48, 12


def _training(seed, mode, **settings):
    """Probability of correct answers before and after training without an external teacher."""
    generator = torch.Generator().manual_seed(seed)
    policy = Policy(_QUESTIONS, _WORDS, generator)
    answers = torch.randint(_WORDS, (_QUESTIONS,), generator=generator)
    trainer = Trainer(policy, mode, **settings)

    def correct():
        return policy.table.detach().softmax(-1).gather(1, answers[:, None]).mean().item()

    results = {"correct before": correct()}
    for _ in range(_STEPS):
        trainer.step(torch.randint(_QUESTIONS, (_ROWS,), generator=generator), answers, generator)
    return results | {"correct after": correct()}


def _approximation(seed):
    """The divergence over all words, and over the words that the student finds most likely."""
    generator = torch.Generator().manual_seed(seed)
    student, teacher = 2 * torch.randn(2, 200, 40, generator=generator)
    results = {}
    for alpha in (0.0, 0.5, 1.0):
        whole = compute_full_logit_self_distillation_loss(student, teacher, distillation_alpha=alpha)
        results[f"alpha {alpha}/all words"] = whole.mean().item()
        for topk in (4, 16):
            for tail in (False, True):
                part = compute_topk_self_distillation_loss(
                    student, teacher, distillation_topk=topk, distillation_alpha=alpha, distillation_add_tail=tail
                )
                results[f"alpha {alpha}/{topk} words{' and tail' * tail}"] = part.mean().item()
    return results


def run(seed: int = 0) -> dict[str, float]:
    """Divergences by the support, and what is learned with it."""
    results = _approximation(seed)
    settings = {
        "sampled word": {"mode": "sampled_token"},
        "all words": {"mode": "full_logits"},
        "2 words": {"mode": "topk_logits"},
        "2 words and tail": {"mode": "topk_logits", "add_tail": True},
        "2 words and tail, between": {"mode": "topk_logits", "add_tail": True, "alpha": 0.5},
    }
    for name, given in settings.items():
        results |= {f"{name}/{key}": value for key, value in _training(seed, **given).items()}
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
