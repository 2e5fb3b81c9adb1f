"""What a policy learns from the loss of GMPO, and how little one outlier among the ratios changes it."""

import json

import torch
from toy import Policy
from trl.experimental.gmpo import GMPOConfig, GMPOTrainer

_WORDS, _PROMPT, _LENGTH, _ROWS = 5, 2, 6, 32


def _inputs(words, **more):
    prompts, completions = words[:, :_PROMPT], words[:, _PROMPT:]
    masks = {"prompt_mask": torch.ones_like(prompts), "completion_mask": torch.ones_like(completions)}
    return {"prompt_ids": prompts, "completion_ids": completions, **masks, **more}


def _training(seed, epsilon, beta=0.0):
    """Reward before and after some rounds, each with three steps on one batch of completions."""
    generator = torch.Generator().manual_seed(seed)
    policy = Policy(_WORDS, generator=generator)
    trainer = GMPOTrainer(policy, None, GMPOConfig(epsilon=epsilon, beta=beta))
    rewards = []
    for _ in range(5):
        prompts = torch.randint(_WORDS, (_ROWS, _PROMPT), generator=generator)
        words = policy.write(prompts, _LENGTH, generator)
        reward = (words[:, _PROMPT:] == 0).float().mean(dim=1)
        rewards.append(reward.mean().item())
        inputs = _inputs(words, advantages=(reward - reward.mean()) / (reward.std() + 1e-4))
        mask = torch.ones_like(words)
        with torch.no_grad():
            old, _, _ = trainer._get_per_token_logps_and_entropies(policy, words, mask, _LENGTH)
        for _ in range(3):
            loss = trainer._compute_loss(policy, inputs | {"old_per_token_logps": old, "ref_per_token_logps": old})
            (slope,) = torch.autograd.grad(loss, policy.table)
            policy.table.data.sub_(6.0 * slope)
    clipped = trainer._metrics["train"]["clip_ratio/region_mean"]
    return {"reward before": rewards[0], "reward after": rewards[-1], "clipped": sum(clipped) / len(clipped)}


def _outlier(seed):
    """Size of the gradient if one token's ratio is very large, with GMPO and with a mean of ratios."""
    generator = torch.Generator().manual_seed(seed)
    policy = Policy(_WORDS, generator=generator)
    trainer = GMPOTrainer(policy, None, GMPOConfig())
    words = torch.randint(_WORDS, (_ROWS, _PROMPT + _LENGTH), generator=generator)
    logps, _, _ = trainer._get_per_token_logps_and_entropies(policy, words, torch.ones_like(words), _LENGTH)
    advantages = -torch.ones(_ROWS)
    results = {}
    for name, shift in (("usual ratios", 0.0), ("an outlier", 3.0)):
        old = logps.detach().clone()
        old[:, 0] -= shift
        losses = {
            "geometric": trainer._compute_loss(policy, _inputs(words, advantages=advantages, old_per_token_logps=old)),
            "arithmetic": -((logps - old).exp().mean(dim=1) * advantages).mean(),
        }
        for mean, loss in losses.items():
            (slope,) = torch.autograd.grad(loss, policy.table, retain_graph=True)
            results[f"{name}/{mean}"] = slope.norm().item()
    return results


def run(seed: int = 0) -> dict[str, float]:
    """Rewards by the clipping range, and sizes of gradients with and without an outlier."""
    results = {f"gradient with {name}": value for name, value in _outlier(seed).items()}
    for name, settings in {"narrow": (0.05,), "wide": (0.4,), "wide, with KL": (0.4, 0.1)}.items():
        results |= {f"{name}/{key}": value for key, value in _training(seed, *settings).items()}
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
