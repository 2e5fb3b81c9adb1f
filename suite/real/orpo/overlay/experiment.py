"""Does the odds ratio keep the model from learning the rejected answers, which look much like the chosen ones?"""

import json

import torch
from toy import Table, ToyTrainer, batch_of
from trl.trainer.orpo_config import ORPOConfig

_TOKENS, _BATCH, _STEPS = 12, 12, 20


def _drawn(generator: torch.Generator, count: int) -> dict:
    """Prompts of a subject from 1 to 4; chosen answers are of tokens from 5 to 7, rejected ones share half of them."""
    prompts, chosen, rejected = [], [], []
    for _ in range(count):
        subject, length, other = torch.randint(1, 5, (3,), generator=generator).tolist()
        prompts.append([subject, *torch.randint(9, _TOKENS, (subject % 3,), generator=generator).tolist()])
        chosen.append(torch.randint(5, 8, (length,), generator=generator).tolist())
        drawn = torch.randint(7, 10, (other,), generator=generator).tolist()
        rejected.append([*chosen[-1][: other // 2], *drawn])
    return batch_of(prompts, chosen, rejected)


def run(seed: int = 0) -> dict[str, float]:
    """Log-probabilities per token and log odds on new pairs, by the weight of the odds ratio."""
    results = {}
    for beta in (0.0, 0.1, 1.0):
        generator = torch.Generator().manual_seed(seed)
        model = Table(_TOKENS)
        trainer = ToyTrainer(model, ORPOConfig(beta=beta))
        first = trainer.step(_drawn(generator, _BATCH), rate=4.0)
        for _ in range(_STEPS):
            trainer.step(_drawn(generator, _BATCH), rate=4.0)
        with torch.no_grad():
            loss, metrics = trainer.get_batch_loss_metrics(model, _drawn(generator, 60), train_eval="eval")
        results[f"beta {beta}/first log odds"] = first["log_odds_chosen"]
        results[f"beta {beta}/loss"] = loss.item()
        for name in ("logps/chosen", "logps/rejected", "log_odds_chosen", "rewards/accuracies", "nll_loss"):
            results[f"beta {beta}/{name}"] = metrics[f"eval_{name}"]
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
