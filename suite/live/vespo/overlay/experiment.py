"""Training on completions of an older policy, with weights of VESPO and with plain importance weights."""

import json

import torch
from toy import Policy
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

_ROWS, _LENGTH, _WORDS, _ROUNDS, _STALENESS = 32, 6, 5, 3, 6


def _weights() -> dict[str, float]:
    """The weights of good and of bad completions, by the ratio of the policies."""
    ratios = torch.tensor([0.25, 0.7, 1.0, 1.5, 3.0])
    log_ratios = ratios.log()[:, None]
    found = {}
    for name, sign in (("good", 1.0), ("bad", -1.0)):
        weights = GRPOTrainer.get_gamma_weights(
            sign * torch.ones(5, 1), log_ratios, torch.ones(5, 1, dtype=torch.int64), None
        )
        found |= {
            f"{name} at {ratio:.2f}": weight
            for ratio, weight in zip(ratios.tolist(), weights[:, 0].tolist(), strict=True)
        }
    return found


def _train(seed: int, vespo: bool, config: GRPOConfig) -> dict[str, float]:
    """Rewards before and after some rounds, and the largest step."""
    generator = torch.Generator().manual_seed(seed)
    policy, trainer = Policy(_LENGTH, _WORDS), GRPOTrainer(config)
    rewards, steps = [], []
    for _ in range(_ROUNDS):
        completions = policy.write(_ROWS, generator)
        rewards.append((completions == 0).float().mean().item())
        reward = (completions == 0).float().mean(dim=1)
        advantages = (reward - reward.mean()) / (reward.std() + 1e-4)
        with torch.no_grad():
            old = policy.logps(completions)
        inputs = {"advantages": advantages, "completion_mask": torch.ones_like(completions), "old_per_token_logps": old}
        for _ in range(_STALENESS):
            logps = policy.logps(completions)
            if vespo:
                loss = trainer.compute_loss(logps, inputs)
            else:
                loss = -((logps - old).sum(dim=1).exp() * advantages).mean() / _LENGTH
            (slope,) = torch.autograd.grad(loss, policy.table)
            steps.append(slope.norm().item())
            policy.table.data.sub_(6.0 * slope)
    return {"first reward": rewards[0], "last reward": rewards[-1], "largest step": max(steps)}


def run(seed: int = 0) -> dict[str, float]:
    """Weights by ratio, and rewards with both kinds of weights."""
    found = _weights()
    for name, vespo, config in (
        ("plain", False, GRPOConfig()),
        ("vespo", True, GRPOConfig()),
    ):
        found |= {f"{name}/{key}": value for key, value in _train(seed, vespo, config).items()}
    return found


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
