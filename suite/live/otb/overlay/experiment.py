"""How much does the gradient of a tabular policy vary, with which baseline?"""

import json

import numpy as np
import torch
from torch.nn import functional as F
from verl.trainer.ppo.core_algos import compute_optimal_token_baseline_advantage

_PROMPTS, _GROUP, _STEPS, _TOKENS = 24, 4, 6, 5


def _gradients(logits, tokens, advantages):
    """The gradient for each prompt, (prompts, steps * tokens)."""
    one_hot = F.one_hot(tokens, _TOKENS) - logits.softmax(-1)
    return (advantages.unsqueeze(-1) * one_hot).unflatten(0, (_PROMPTS, _GROUP)).mean(1).flatten(1)


def run(seed: int = 0) -> dict[str, float]:
    """Variances of the gradient, and how large advantages and baselines are, by the baseline."""
    generator = torch.Generator().manual_seed(seed)
    # Early steps are nearly certain, later ones are not.
    logits = torch.randn(_STEPS, _TOKENS, generator=generator) * torch.linspace(4.0, 0.5, _STEPS)[:, None]
    probabilities = logits.softmax(-1)
    rows = _PROMPTS * _GROUP
    tokens = torch.multinomial(probabilities, rows, replacement=True, generator=generator).T
    lengths = torch.randint(2, _STEPS + 1, (rows, 1), generator=generator)
    mask = (torch.arange(_STEPS) < lengths).float()
    rewards = torch.zeros(rows, _STEPS)
    rewards[torch.arange(rows), lengths.flatten() - 1] = (
        2.0 + (tokens[:, 1:3] == 0).sum(1) + 0.5 * (lengths.flatten() > 3)
    )
    chosen = probabilities.log().expand(rows, -1, -1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    index = np.arange(rows) // _GROUP
    squares = probabilities.square().sum(-1).expand(rows, -1)
    otb, returns = compute_optimal_token_baseline_advantage(rewards, mask, index, chosen, squares)
    tail, _ = compute_optimal_token_baseline_advantage(rewards, mask, index, chosen, squares, handle_zero_tail=False)
    total = returns[:, :1]
    group_mean = total.unflatten(0, (_PROMPTS, _GROUP)).mean(1).repeat_interleave(_GROUP, dim=0)
    advantages = {
        "no baseline": returns,
        "mean of the group": (returns - group_mean) * mask,
        "optimal": otb,
        "optimal, with the tail": tail,
    }
    results = {}
    for name, values in advantages.items():
        gradients = _gradients(logits, tokens, values * mask)
        results[f"{name}/variance"] = gradients.var(dim=0).sum().item()
        results[f"{name}/size of advantages"] = values.abs().mean().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
