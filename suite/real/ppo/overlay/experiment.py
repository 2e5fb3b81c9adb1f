"""A table of logits learns to write what is scored, with several clipping ranges and epochs on each batch."""

import json

import torch
from torchtune.rlhf import estimate_advantages, get_rewards_ppo
from torchtune.rlhf.loss.ppo import PPOLoss

_WORDS, _LENGTH, _BATCH, _ITERATIONS, _EPOCHS = 8, 5, 32, 6, 5
_RATE = 4.0
_END = 0


def _written(logits: torch.Tensor, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Responses, and which of their tokens count: those up to the first end, or all."""
    tokens = torch.multinomial(logits.softmax(-1), _BATCH, True, generator=generator).T
    ended = (tokens == _END).cumsum(1)
    return tokens, (ended == 0) | ((ended == 1) & (tokens == _END))


def _logprobs(logits: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    return logits.log_softmax(-1).expand(len(tokens), -1, -1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)


def _trained(seed: int, epsilon: float, kl_coeff: float) -> dict[str, float]:
    generator = torch.Generator().manual_seed(seed)
    reference = 0.3 * torch.randn(_LENGTH, _WORDS, generator=generator, dtype=torch.float64)
    worth = torch.randn(_WORDS, generator=generator, dtype=torch.float64)
    logits, table = reference.clone().requires_grad_(), torch.zeros(_LENGTH, dtype=torch.float64, requires_grad=True)
    loss_of = PPOLoss(epsilon=epsilon, value_clip_range=0.5, value_coeff=0.5)
    shares, ratios = [], []
    for _ in range(_ITERATIONS):
        with torch.no_grad():
            tokens, counts = _written(logits, generator)
            old, values = _logprobs(logits, tokens), table.expand(_BATCH, -1).clone()
            scores = (worth[tokens] * counts).sum(1)
            ends = counts.sum(1) - 1
            rewards, _, _ = get_rewards_ppo(scores, old, _logprobs(reference, tokens), kl_coeff, ends)
            advantages, returns = estimate_advantages(values, rewards * counts, 1.0, 0.95, masks=counts)
        for _ in range(_EPOCHS):
            now = _logprobs(logits, tokens)
            predicted = table.expand(_BATCH, -1)
            loss, _, _, ratio, share = loss_of(old, now, advantages, values, predicted, returns, counts, counts)
            slopes = torch.autograd.grad(loss, (logits, table))
            with torch.no_grad():
                logits -= _RATE * slopes[0]
                table -= _RATE * slopes[1]
            shares.append(share)
            ratios.append(ratio)
    with torch.no_grad():
        tokens, counts = _written(logits, generator)
        far = logits.softmax(-1) * (logits.log_softmax(-1) - reference.log_softmax(-1))
        return {
            "score": (worth[tokens] * counts).sum(1).mean().item(),
            "divergence": far.sum(-1).mean().item(),
            "share clipped": torch.stack(shares).mean().item(),
            "mean ratio": torch.stack(ratios).mean().item(),
            "loss": loss.item(),
        }


def run(seed: int = 0) -> dict[str, float]:
    """What became of the policy, by clipping range and coefficient of the penalty."""
    results = {}
    for epsilon, kl_coeff in ((0.2, 0.0), (0.2, 1.0), (0.02, 0.0), (1e3, 0.0)):
        for name, value in _trained(seed, epsilon, kl_coeff).items():
            results[f"epsilon {epsilon}, penalty {kl_coeff}/{name}"] = value
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
