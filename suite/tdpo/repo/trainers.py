"""The loss of token-level preference optimisation, and the loops of both stages."""

import copy
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from data import PairBatch, minibatches
from model import TinyLM
from utils import completion_mask, pair_statistics, token_logps


@dataclass(frozen=True)
class TrainConfig:
    """How a stage is trained."""

    steps: int = 8
    batch_size: int = 16
    learning_rate: float = 3e-3
    warmup_steps: int = 4
    beta: float = 0.1
    alpha: float = 0.5
    if_tdpo2: bool = True
    seed: int = 0


def tdpo_loss(
    chosen_logps_margin: Tensor,
    rejected_logps_margin: Tensor,
    chosen_position_kl: Tensor,
    rejected_position_kl: Tensor,
    beta: float,
    alpha: float = 0.5,
    if_tdpo2: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """Losses and rewards of a batch of preference pairs, from the statistics that `utils.pair_statistics` makes.

    Args:
        chosen_logps_margin: the policy's log-probabilities of the chosen completions over the reference's, (batch,).
        rejected_logps_margin: the same of the rejected ones, (batch,).
        chosen_position_kl: sequential divergences at the chosen completions, (batch,).
        rejected_position_kl: the same at the rejected ones, (batch,).
        beta: strength of the pull towards the reference, above zero.
        alpha: how much the divergences count in the second version of the method, zero or more.
        if_tdpo2: use the second version of the method, or else the first.

    Returns:
        losses, chosen rewards and rejected rewards, each (batch,); the rewards are detached.
    """
    log_ratio = chosen_logps_margin - rejected_logps_margin
    if if_tdpo2:
        offset = alpha * (rejected_position_kl - chosen_position_kl.detach())
    else:
        offset = rejected_position_kl - chosen_position_kl
    losses = -F.logsigmoid(beta * (log_ratio - offset))
    chosen_rewards = beta * (chosen_logps_margin + chosen_position_kl).detach()
    rejected_rewards = beta * (rejected_logps_margin + rejected_position_kl).detach()
    return losses, chosen_rewards, rejected_rewards


def fine_tune(model: TinyLM, pairs: PairBatch, config: TrainConfig) -> None:
    """Maximise the likelihood of the completions of both kinds, in place."""
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    generator = Generator().manual_seed(config.seed)
    for batch in minibatches(pairs, config.batch_size, config.steps, generator):
        tokens = torch.cat([batch.chosen, batch.rejected])
        labels = torch.cat([batch.chosen_labels, batch.rejected_labels])
        loss = -token_logps(model(tokens), labels).sum() / completion_mask(labels).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def train_preferences(policy: TinyLM, pairs: PairBatch, config: TrainConfig) -> dict[str, float]:
    """Train the policy on pairs, in place, against a frozen copy of itself; the metrics of the last step."""
    reference = copy.deepcopy(policy).requires_grad_(False)
    # RMSprop with a linear warm-up (appendix B).
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=config.learning_rate, eps=1e-4)
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / config.warmup_steps))
    generator = Generator().manual_seed(config.seed)
    metrics = {}
    for batch in minibatches(pairs, config.batch_size, config.steps, generator):
        statistics = pair_statistics(policy, reference, batch)
        losses, chosen, rejected = tdpo_loss(
            **vars(statistics), beta=config.beta, alpha=config.alpha, if_tdpo2=config.if_tdpo2
        )
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        warmup.step()
        metrics = {
            "loss": losses.mean().item(),
            "chosen_reward": chosen.mean().item(),
            "reward_margin": (chosen - rejected).mean().item(),
        }
    return metrics
