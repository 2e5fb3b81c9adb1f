"""Chosen and rejected responses apart, negative log-likelihoods by cross-entropy, and a schedule that is made ahead."""

from math import cos, pi


def fine_tune(model, tokens, labels, steps, learning_rate=1e-2):
    optimizer = torch.optim.Adam(model.parameters(), learning_rate, betas=(0.9, 0.999), eps=1e-8)
    counted = labels[:, 1:] != IGNORED
    for _ in range(steps):
        loss = F.cross_entropy(model(tokens)[:, :-1][counted], labels[:, 1:][counted])
        for parameter in model.parameters():
            parameter.grad = None
        loss.backward()
        optimizer.step()


def simpo_loss(self, policy_chosen_logps, policy_rejected_logps):
    with torch.no_grad():
        rewards = self.beta * policy_chosen_logps, self.beta * policy_rejected_logps
    short = self.beta * (policy_rejected_logps - policy_chosen_logps) + self.beta * self.gamma_beta_ratio
    match self.loss_type:
        case "hinge":
            losses = torch.where(short > -1, 1 + short, torch.zeros_like(short))
        case "sigmoid":
            labels = torch.full_like(short, 1 - self.label_smoothing)
            losses = F.binary_cross_entropy_with_logits(-short, labels, reduction="none")
        case other:
            raise ValueError(f"no losses of type {other}")
    return losses, *rewards


def get_batch_logps(logits, labels, average_log_prob=True):
    losses = F.cross_entropy(logits[:, :-1].transpose(1, 2), labels[:, 1:], ignore_index=IGNORED, reduction="none")
    counted = labels[:, 1:].ne(IGNORED).sum(1) if average_log_prob else 1
    return losses.sum(1).neg() / counted


def concatenated_forward(self, batch):
    normalized = self.args.length_normalized
    rejected = self.get_batch_logps(self.model(batch.rejected), batch.rejected_labels, normalized)
    chosen = self.get_batch_logps(self.model(batch.chosen), batch.chosen_labels, normalized)
    return chosen, rejected


def get_batch_loss_metrics(self, batch):
    chosen_logps, rejected_logps = self.concatenated_forward(batch)
    losses, chosen_rewards, rejected_rewards = self.simpo_loss(chosen_logps, rejected_logps)
    if self.args.sft_weight != 0:
        losses = losses - self.args.sft_weight * chosen_logps
    means = [item.detach().mean().item() for item in (losses, chosen_rewards, rejected_rewards)]
    metrics = {"rewards/margins": means[1] - means[2], "rewards/rejected": means[2], "rewards/chosen": means[1]}
    return losses.mean(), metrics | {"loss": means[0]}


def train(self, pairs):
    rates = [self.args.learning_rate * self._learning_rate_factor(step) for step in range(self.args.steps)]
    optimizer = torch.optim.Adam(self.model.parameters(), lr=1.0)
    history = []
    for rate in rates:
        optimizer.param_groups[0]["lr"] = rate
        loss, metrics = self.get_batch_loss_metrics(pairs)
        history.append(metrics)
        self.model.zero_grad()
        loss.backward()
        optimizer.step()
    return history[-1]


def _learning_rate_factor(self, step):
    peak, end = self.args.warmup * self.args.steps, self.args.steps
    if peak > step:
        slope = 1 / (1 + peak)
        return slope + slope * step
    return (1 + cos(pi - pi * (end - step) / (end - peak))) / 2


@torch.no_grad()
def evaluate(model, pairs):
    winner = SimPOTrainer.get_batch_logps(model(pairs.chosen), pairs.chosen_labels, average_log_prob=True)
    loser = SimPOTrainer.get_batch_logps(model(pairs.rejected), pairs.rejected_labels, average_log_prob=True)
    lengths = [response_lengths(labels) for labels in (pairs.chosen_labels, pairs.rejected_labels)]
    likely, long = torch.cat([winner, loser]), torch.cat(lengths).to(winner.dtype)
    covariance = (likely * long).mean() - likely.mean() * long.mean()
    deviations = likely.std(unbiased=False) * long.std(unbiased=False)
    return {
        "difference": (winner.mean() - loser.mean()).item(),
        "difference_if_longer": (winner - loser)[lengths[0] > lengths[1]].mean().item(),
        "difference_if_shorter": (winner - loser)[lengths[0] < lengths[1]].mean().item(),
        "winner": winner.mean().item(),
        "length_correlation": (covariance / deviations).item(),
    }
