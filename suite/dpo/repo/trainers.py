"""Losses, and the loops of both stages: supervised fine-tuning, then preference optimisation."""

import copy
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from data import PairBatch
from model import TinyLM
from utils import completion_logps


@dataclass(frozen=True)
class TrainConfig:
    """How a stage is trained."""

    steps: int = 40
    learning_rate: float = 5e-3
    beta: float = 0.1
    label_smoothing: float = 0.0
    ipo: bool = False
    reference_free: bool = False


def preference_loss(
    policy_chosen_logps: Tensor,
    policy_rejected_logps: Tensor,
    reference_chosen_logps: Tensor,
    reference_rejected_logps: Tensor,
    beta: float,
    label_smoothing: float = 0.0,
    ipo: bool = False,
    reference_free: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Losses and implicit rewards of a batch of preference pairs.

    Args:
        policy_chosen_logps: log-probabilities of the chosen completions under the policy, (batch,).
        policy_rejected_logps: the same of the rejected ones, (batch,).
        reference_chosen_logps: log-probabilities of the chosen completions under the reference, (batch,).
        reference_rejected_logps: the same of the rejected ones, (batch,).
        beta: strength of the pull towards the reference, above zero.
        label_smoothing: the probability that a label is wrong, in [0, 0.5).
        ipo: use the loss of Identity Preference Optimization.
        reference_free: let the losses do without the reference.

    Returns:
        losses, chosen rewards and rejected rewards, each (batch,); the rewards are detached.
    """
    log_ratio = policy_chosen_logps - policy_rejected_logps
    if not reference_free:
        log_ratio = log_ratio - (reference_chosen_logps - reference_rejected_logps)
    if ipo:
        losses = (log_ratio - 1 / (2 * beta)) ** 2
    else:
        right, wrong = F.logsigmoid(beta * log_ratio), F.logsigmoid(-beta * log_ratio)
        losses = -(1 - label_smoothing) * right - label_smoothing * wrong
    chosen_rewards = beta * (policy_chosen_logps - reference_chosen_logps).detach()
    rejected_rewards = beta * (policy_rejected_logps - reference_rejected_logps).detach()
    return losses, chosen_rewards, rejected_rewards


def pair_logps(model: TinyLM, pairs: PairBatch) -> tuple[Tensor, Tensor]:
    """Log-probabilities of chosen and rejected completions, each (batch,)."""
    chosen = completion_logps(model(pairs.chosen), pairs.chosen_labels)
    rejected = completion_logps(model(pairs.rejected), pairs.rejected_labels)
    return chosen, rejected


def fine_tune(model: TinyLM, pairs: PairBatch, config: TrainConfig) -> None:
    """Maximise the likelihood of the chosen completions, in place."""
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    for _ in range(config.steps):
        optimizer.zero_grad()
        loss = -completion_logps(model(pairs.chosen), pairs.chosen_labels, average=True).mean()
        loss.backward()
        optimizer.step()


def train_preferences(policy: TinyLM, pairs: PairBatch, config: TrainConfig) -> dict[str, float]:
    """Train the policy on pairs, in place, against a frozen copy of itself; the metrics of the last step."""
    reference = copy.deepcopy(policy).requires_grad_(False)
    with torch.no_grad():
        reference_logps = pair_logps(reference, pairs)
    optimizer = torch.optim.Adam(policy.parameters(), lr=config.learning_rate)
    metrics = {}
    for _ in range(config.steps):
        optimizer.zero_grad()
        losses, chosen, rejected = preference_loss(
            *pair_logps(policy, pairs),
            *reference_logps,
            beta=config.beta,
            label_smoothing=config.label_smoothing,
            ipo=config.ipo,
            reference_free=config.reference_free,
        )
        losses.mean().backward()
        optimizer.step()
        metrics = {
            "loss": losses.mean().item(),
            "chosen_reward": chosen.mean().item(),
            "reward_margin": (chosen - rejected).mean().item(),
        }
    return metrics
