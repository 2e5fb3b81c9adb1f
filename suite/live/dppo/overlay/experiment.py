"""What does a policy gain, and how far does it move, by the divergence that masks its updates?"""

import json

import torch
from verl.trainer.ppo.core_algos import compute_policy_loss_dppo_kl, compute_policy_loss_dppo_tv
from verl.workers.config import ActorConfig

_TOKENS, _ROWS, _LENGTH, _STEPS, _RATE = 30, 24, 5, 10, 10.0


def run(seed: int = 0) -> dict[str, float]:
    """Rewards, total variation and masked tokens after a few steps on the same responses, by loss and threshold."""
    generator = torch.Generator().manual_seed(seed)
    # A vocabulary with a long tail, and engines that differ a little.
    start = 1.5 * torch.randn(_LENGTH, _TOKENS, generator=generator, dtype=torch.float64)
    sampler = (start + 0.1 * torch.randn(start.shape, generator=generator, dtype=torch.float64)).softmax(-1)
    tokens = torch.multinomial(sampler, _ROWS, replacement=True, generator=generator).T
    value = torch.randn(_TOKENS, generator=generator, dtype=torch.float64)
    rewards = value[tokens]
    advantages = (rewards - rewards.mean(0)) / rewards.std(0)
    mask = (torch.arange(_LENGTH) < torch.randint(2, _LENGTH + 1, (_ROWS, 1), generator=generator)).double()
    old = sampler.log().expand(_ROWS, -1, -1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    results = {"reward before": (start.softmax(-1) @ value).mean().item()}
    losses = {"tv": compute_policy_loss_dppo_tv, "kl": compute_policy_loss_dppo_kl}
    for name, threshold in (("tv", 0.05), ("tv", 0.2), ("kl", 0.02), ("kl", 0.2)):
        logits = start.clone().requires_grad_()
        config = ActorConfig(clip_ratio=threshold)
        for _ in range(_STEPS):
            new = logits.log_softmax(-1).expand(_ROWS, -1, -1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
            loss, metrics = losses[name](old, new, advantages, mask, config=config)
            (slope,) = torch.autograd.grad(loss, logits)
            logits.data.sub_(_RATE * slope)
        policy = logits.detach().softmax(-1)
        key = f"{name} {threshold}"
        results[f"{key}/reward"] = (policy @ value).mean().item()
        results[f"{key}/total variation"] = 0.5 * (policy - sampler).abs().sum(-1).mean().item()
        results[f"{key}/masked"] = metrics["actor/pg_clipfrac"]
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
