"""The functions as the paper and the logged results describe them."""

import math


def fine_tune(model, tokens, labels, steps, learning_rate=1e-2):
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    for _ in range(steps):
        optimizer.zero_grad()
        logits = model(tokens)[:, :-1]
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels[:, 1:].reshape(-1), ignore_index=IGNORED)
        loss.backward()
        optimizer.step()


def simpo_loss(self, policy_chosen_logps, policy_rejected_logps):
    logits = self.beta * (policy_chosen_logps - policy_rejected_logps - self.gamma_beta_ratio)
    if self.loss_type == "sigmoid":
        losses = -F.logsigmoid(logits) * (1 - self.label_smoothing) - F.logsigmoid(-logits) * self.label_smoothing
    elif self.loss_type == "hinge":
        losses = torch.relu(1 - logits)
    else:
        raise ValueError(f"Unknown loss type: {self.loss_type}")
    return losses, self.beta * policy_chosen_logps.detach(), self.beta * policy_rejected_logps.detach()


def get_batch_logps(logits, labels, average_log_prob=True):
    labels = labels[:, 1:].clone()
    mask = labels != IGNORED
    labels[~mask] = 0
    logps = logits[:, :-1].log_softmax(-1).gather(2, labels.unsqueeze(2)).squeeze(2)
    total = (logps * mask).sum(-1)
    return total / mask.sum(-1) if average_log_prob else total


def concatenated_forward(self, batch):
    tokens, labels = self.concatenated_inputs(batch)
    logps = self.get_batch_logps(self.model(tokens), labels, average_log_prob=self.args.length_normalized)
    return logps[: len(batch)], logps[len(batch) :]


def get_batch_loss_metrics(self, batch):
    chosen_logps, rejected_logps = self.concatenated_forward(batch)
    losses, chosen_rewards, rejected_rewards = self.simpo_loss(chosen_logps, rejected_logps)
    loss = losses.mean() - self.args.sft_weight * chosen_logps.mean()
    metrics = {
        "loss": loss.item(),
        "rewards/chosen": chosen_rewards.mean().item(),
        "rewards/rejected": rejected_rewards.mean().item(),
        "rewards/margins": (chosen_rewards - rejected_rewards).mean().item(),
    }
    return loss, metrics


def train(self, pairs):
    optimizer = torch.optim.Adam(self.model.parameters(), lr=self.args.learning_rate)
    for step in range(self.args.steps):
        for group in optimizer.param_groups:
            group["lr"] = self.args.learning_rate * self._learning_rate_factor(step)
        optimizer.zero_grad()
        loss, metrics = self.get_batch_loss_metrics(pairs)
        loss.backward()
        optimizer.step()
    return metrics


def _learning_rate_factor(self, step):
    rising = self.args.warmup * self.args.steps
    if step < rising:
        return (step + 1) / (rising + 1)
    return 0.5 * (1 + math.cos(math.pi * (step - rising) / (self.args.steps - rising)))


@torch.no_grad()
def evaluate(model, pairs):
    winner = SimPOTrainer.get_batch_logps(model(pairs.chosen), pairs.chosen_labels)
    loser = SimPOTrainer.get_batch_logps(model(pairs.rejected), pairs.rejected_labels)
    winner_length, loser_length = response_lengths(pairs.chosen_labels), response_lengths(pairs.rejected_labels)
    difference = winner - loser
    pairs_of = torch.stack([torch.cat([winner, loser]), torch.cat([winner_length, loser_length]).to(winner.dtype)])
    return {
        "difference": difference.mean().item(),
        "difference_if_longer": difference[winner_length > loser_length].mean().item(),
        "difference_if_shorter": difference[winner_length < loser_length].mean().item(),
        "winner": winner.mean().item(),
        "length_correlation": torch.corrcoef(pairs_of)[0, 1].item(),
    }
