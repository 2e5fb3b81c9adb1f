"""Both stages: supervised fine-tuning, and the trainer that teaches the main player to know people from opponents."""

import copy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from spin.alignment.configs import SFTConfig, SPINConfig
from spin.alignment.data import Example, Item, Pair, PairBatch, collate, collate_pairs, minibatches
from spin.alignment.model import TinyLM, response_logps


def supervised_loss(model: TinyLM, examples: list[Example]) -> Tensor:
    """The mean negative log-likelihood of the demonstrated responses (section 3.1), a scalar."""
    return -response_logps(model, *collate(examples)).mean()


def fine_tune(model: TinyLM, examples: list[Example], config: SFTConfig) -> None:
    """The first stage: supervised fine-tuning, in place."""
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    for _ in range(config.steps):
        optimizer.zero_grad()
        supervised_loss(model, examples).backward()
        optimizer.step()


def train_epochs(
    model: TinyLM,
    items: list[Item],
    batch_loss: Callable[[list[Item]], tuple[Tensor, dict[str, float]]],
    learning_rate: float,
    args: SPINConfig,
    generator: Generator,
) -> dict[str, float]:
    """One iteration of the second stage, whatever its loss: RMSProp with a warm-up; the metrics of the last step."""
    steps = args.epochs * -(-len(items) // args.batch_size)
    warmup = max(1, round(args.warmup * steps))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup))
    metrics = {}
    for _ in range(args.epochs):
        for batch in minibatches(items, args.batch_size, generator):
            optimizer.zero_grad()
            loss, metrics = batch_loss(batch)
            loss.backward()
            optimizer.step()
            schedule.step()
    return metrics


class SPINTrainer:
    """Trains the main player in place, one iteration after another, each against a frozen copy of where it began.

    Attributes:
        model: the main player.
        opponent: the model as it was when the current iteration started; it gets no gradient.
        beta: the regularisation parameter of the current iteration.
        learning_rate: the peak of the current iteration.
        loss_type: "sigmoid" or "hinge".
    """

    def __init__(self, model: TinyLM, args: SPINConfig) -> None:
        self.model = model
        self.args = args
        self.loss_type = args.loss_type
        self.start_iteration(0)

    def start_iteration(self, iteration: int) -> None:
        """Make the main player of now the opponent, and take the settings of the iteration."""
        self.opponent = copy.deepcopy(self.model).requires_grad_(False)
        self.beta = self.args.betas[iteration]
        self.learning_rate = self.args.learning_rates[iteration]

    def spin_loss(
        self,
        policy_real_logps: Tensor,
        policy_generated_logps: Tensor,
        opponent_real_logps: Tensor,
        opponent_generated_logps: Tensor,
        reference_free: bool = False,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Losses and rewards of a batch of real and generated responses.

        Args:
            policy_real_logps: log-probabilities of the real responses under the main player, (batch,).
            policy_generated_logps: the same of the generated responses, (batch,).
            opponent_real_logps: log-probabilities of the real responses under the opponent, (batch,).
            opponent_generated_logps: the same of the generated responses, (batch,).
            reference_free: let the losses do without the opponent.

        Returns:
            losses, rewards of the real and rewards of the generated responses, each (batch,); the rewards are detached.

        Raises:
            ValueError: if `self.loss_type` is none of the supported ones.
        """
        log_ratio = policy_real_logps - policy_generated_logps
        if not reference_free:
            log_ratio = log_ratio - (opponent_real_logps - opponent_generated_logps)
        # Equation 4.7: the argument of the loss function.
        margin = self.beta * log_ratio
        if self.loss_type == "sigmoid":
            losses = -F.logsigmoid(margin)
        elif self.loss_type == "hinge":
            losses = F.relu(1 - margin)
        else:
            raise ValueError(self.loss_type)
        real_rewards = self.beta * (policy_real_logps - opponent_real_logps).detach()
        generated_rewards = self.beta * (policy_generated_logps - opponent_generated_logps).detach()
        return losses, real_rewards, generated_rewards

    def concatenated_forward(self, model: TinyLM, batch: PairBatch) -> tuple[Tensor, Tensor]:
        """Log-probabilities of real and of generated responses, each (batch,), from one pass through the model."""
        tokens = torch.cat([batch.real, batch.generated])
        labels = torch.cat([batch.real_labels, batch.generated_labels])
        real, generated = response_logps(model, tokens, labels).chunk(2)
        return real, generated

    def batch_metrics(self, pairs: list[Pair]) -> tuple[Tensor, dict[str, float]]:
        """The loss of a batch, a scalar, and what is logged of it."""
        batch = collate_pairs(pairs)
        with torch.no_grad():
            opponent_logps = self.concatenated_forward(self.opponent, batch)
        losses, real_rewards, generated_rewards = self.spin_loss(
            *self.concatenated_forward(self.model, batch), *opponent_logps, reference_free=self.args.reference_free
        )
        loss = losses.mean()
        metrics = {
            "loss": loss.item(),
            "real_reward": real_rewards.mean().item(),
            "generated_reward": generated_rewards.mean().item(),
        }
        return loss, metrics

    def train(self, pairs: list[Pair], generator: Generator) -> dict[str, float]:
        """Train the main player for one iteration; the metrics of its last step."""
        return train_epochs(self.model, pairs, self.batch_metrics, self.learning_rate, self.args, generator)
