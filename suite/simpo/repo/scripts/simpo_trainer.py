"""The trainer: log-probabilities of chosen and rejected responses, the loss on them, and the training loop."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from data import IGNORED, PairBatch, pad_to_length
from model import TinyLM
from scripts.simpo_config import SimPOConfig


class SimPOTrainer:
    """Trains a policy on preference pairs, in place and without a reference model."""

    def __init__(self, model: TinyLM, args: SimPOConfig, pad_token_id: int = 0) -> None:
        self.model = model
        self.args = args
        self.pad_token_id = pad_token_id
        self.beta = args.beta
        self.gamma_beta_ratio = args.gamma_beta_ratio
        self.loss_type = args.loss_type
        self.label_smoothing = args.label_smoothing

    def simpo_loss(self, policy_chosen_logps: Tensor, policy_rejected_logps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """SimPO losses and rewards of a batch of preference pairs.

        Args:
            policy_chosen_logps: log-probabilities of the chosen responses, from `concatenated_forward`, (batch,).
            policy_rejected_logps: the same of the rejected responses, (batch,).

        Returns:
            losses, chosen rewards and rejected rewards, each (batch,); the rewards are detached.

        Raises:
            ValueError: unknown loss_type, which the message names.
        """
        chosen_rewards = self.beta * policy_chosen_logps
        rejected_rewards = self.beta * policy_rejected_logps
        # Equations 5 and 6; the configuration gives the margin in units of beta.
        excess = chosen_rewards - rejected_rewards - self.beta * self.gamma_beta_ratio
        if self.loss_type == "sigmoid":
            right, wrong = F.logsigmoid(excess), F.logsigmoid(-excess)
            losses = -(1 - self.label_smoothing) * right - self.label_smoothing * wrong
        elif self.loss_type == "hinge":
            losses = F.relu(1 - excess)
        else:
            raise ValueError(f"unknown loss_type {self.loss_type!r}")
        return losses, chosen_rewards.detach(), rejected_rewards.detach()

    def concatenated_inputs(self, batch: PairBatch) -> tuple[Tensor, Tensor]:
        """Tokens and labels of the chosen sequences, then those of the rejected ones; both (2 * batch, length)."""
        length = max(batch.chosen.shape[1], batch.rejected.shape[1])
        tokens = [pad_to_length(rows, length, self.pad_token_id) for rows in (batch.chosen, batch.rejected)]
        labels = [pad_to_length(rows, length, IGNORED) for rows in (batch.chosen_labels, batch.rejected_labels)]
        return torch.cat(tokens), torch.cat(labels)

    @staticmethod
    def get_batch_logps(logits: Tensor, labels: Tensor, average_log_prob: bool = True) -> Tensor:
        """Log-probability of each response, averaged over its tokens or summed; (batch,).

        logits: (batch, length, vocabulary); labels: (batch, length), IGNORED where a token is not of the response.
        """
        targets = labels[:, 1:]
        of_response = targets != IGNORED
        tokens = targets.masked_fill(~of_response, 0).unsqueeze(-1)
        logps = F.log_softmax(logits[:, :-1], dim=-1).gather(-1, tokens).squeeze(-1)
        total = (logps * of_response).sum(-1)
        return total / of_response.sum(-1) if average_log_prob else total

    def concatenated_forward(self, batch: PairBatch) -> tuple[Tensor, Tensor]:
        """Log-probabilities of chosen and of rejected responses, each (batch,), from one pass through the model."""
        tokens, labels = self.concatenated_inputs(batch)
        logps = self.get_batch_logps(self.model(tokens), labels, average_log_prob=self.args.length_normalized)
        chosen, rejected = logps.split(len(batch))
        return chosen, rejected

    def get_batch_loss_metrics(self, batch: PairBatch) -> tuple[Tensor, dict[str, float]]:
        """The loss to descend, and what there is to watch about it."""
        chosen_logps, rejected_logps = self.concatenated_forward(batch)
        losses, chosen_rewards, rejected_rewards = self.simpo_loss(chosen_logps, rejected_logps)
        loss = losses.mean()
        if self.args.sft_weight:
            loss = loss - self.args.sft_weight * chosen_logps.mean()
        metrics = {
            "loss": loss.item(),
            "rewards/chosen": chosen_rewards.mean().item(),
            "rewards/rejected": rejected_rewards.mean().item(),
            "rewards/margins": (chosen_rewards - rejected_rewards).mean().item(),
        }
        return loss, metrics

    def train(self, pairs: PairBatch) -> dict[str, float]:
        """Train on the pairs; the metrics of the last step."""
        optimizer = torch.optim.Adam(self.model.parameters(), lr=self.args.learning_rate)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, self._learning_rate_factor)
        metrics: dict[str, float] = {}
        for _ in range(self.args.steps):
            optimizer.zero_grad()
            loss, metrics = self.get_batch_loss_metrics(pairs)
            loss.backward()
            optimizer.step()
            scheduler.step()
        return metrics

    def _learning_rate_factor(self, step: int) -> float:
        """A linear rise, then a cosine (appendix B)."""
        rising = self.args.warmup * self.args.steps
        if step < rising:
            return (step + 1) / (rising + 1)
        return 0.5 * (1 + math.cos(math.pi * (step - rising) / (self.args.steps - rising)))
