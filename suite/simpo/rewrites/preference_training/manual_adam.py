"""The tokens of all responses in one row, and Adam, its schedule and the correlation written out."""

import math


def adam_steps(model, steps, rate, loss_of):
    parameters = list(model.parameters())
    first, second = ([torch.zeros_like(item) for item in parameters] for _ in range(2))
    for step in range(steps):
        gradients = torch.autograd.grad(loss_of(), parameters)
        with torch.no_grad():
            for item, gradient, mean, square in zip(parameters, gradients, first, second, strict=True):
                mean += (gradient - mean) * (1 - 0.9)
                square += (gradient**2 - square) * (1 - 0.999)
                scale = (square / (1 - 0.999 ** (step + 1))).sqrt() + 1e-8
                item -= rate(step) / (1 - 0.9 ** (step + 1)) * mean / scale


def fine_tune(model, tokens, labels, steps, learning_rate=1e-2):
    def loss():
        logps = torch.log_softmax(model(tokens), dim=-1)
        rows, places = torch.nonzero(labels[:, 1:] >= 0, as_tuple=True)
        return -logps[rows, places, labels[rows, places + 1]].mean()

    adam_steps(model, steps, lambda step: learning_rate, loss)


def simpo_loss(self, policy_chosen_logps, policy_rejected_logps):
    kinds = ("sigmoid", "hinge")
    if self.loss_type not in kinds:
        raise ValueError(f"{self.loss_type} is none of {kinds}")
    excess = self.beta * (policy_chosen_logps - policy_rejected_logps - self.gamma_beta_ratio)
    if self.loss_type == "hinge":
        losses = (1 - excess).clamp(min=0)
    else:
        # The soft label costs its probability times the excess more than the right one.
        losses = F.softplus(-excess) + self.label_smoothing * excess
    return losses, policy_chosen_logps.detach() * self.beta, policy_rejected_logps.detach() * self.beta


def get_batch_logps(logits, labels, average_log_prob=True):
    rows, places = torch.nonzero(labels[:, 1:] != IGNORED, as_tuple=True)
    losses = F.cross_entropy(logits[rows, places], labels[rows, places + 1], reduction="none")
    counts = rows.bincount(minlength=len(labels))
    if average_log_prob:
        losses = losses / counts[rows]
    return torch.zeros(len(labels), dtype=logits.dtype).index_add(0, rows, -losses)


def concatenated_forward(self, batch):
    sides = ((batch.chosen, batch.chosen_labels), (batch.rejected, batch.rejected_labels))
    return tuple(
        self.get_batch_logps(self.model(tokens), labels, self.args.length_normalized) for tokens, labels in sides
    )


def get_batch_loss_metrics(self, batch):
    logps = self.concatenated_forward(batch)
    losses, chosen, rejected = self.simpo_loss(*logps)
    loss = (losses - self.args.sft_weight * logps[0]).sum() / len(losses)
    metrics = {"loss": float(loss), "rewards/chosen": float(chosen.mean()), "rewards/rejected": float(rejected.mean())}
    metrics["rewards/margins"] = metrics["rewards/chosen"] - metrics["rewards/rejected"]
    return loss, metrics


def train(self, pairs):
    metrics = {}

    def loss():
        found, logged = self.get_batch_loss_metrics(pairs)
        metrics.update(logged)
        return found

    rate = self.args.learning_rate
    adam_steps(self.model, self.args.steps, lambda step: rate * self._learning_rate_factor(step), loss)
    return metrics


def _learning_rate_factor(self, step):
    top = self.args.steps * self.args.warmup
    if step <= top:
        return 1 - (top - step) / (top + 1)
    return math.cos(math.pi / 2 * (step - top) / (self.args.steps - top)) ** 2


def evaluate(model, pairs):
    rows = []
    logps = [
        SimPOTrainer.get_batch_logps(model(tokens), labels).tolist()
        for tokens, labels in ((pairs.chosen, pairs.chosen_labels), (pairs.rejected, pairs.rejected_labels))
    ]
    lengths = [[sum(label != IGNORED for label in row) for row in labels.tolist()] for labels in (pairs.chosen_labels,)]
    lengths.append([sum(label != IGNORED for label in row) for row in pairs.rejected_labels.tolist()])
    for better, worse, length, other in zip(*logps, *lengths, strict=True):
        rows.append((better - worse, length - other))

    def mean(values):
        values = list(values)
        return sum(values) / len(values)

    x, y = logps[0] + logps[1], lengths[0] + lengths[1]
    x, y = [item - mean(x) for item in x], [item - mean(y) for item in y]
    together = sum(one * other for one, other in zip(x, y, strict=True))
    return {
        "difference": mean(gap for gap, _ in rows),
        "difference_if_longer": mean(gap for gap, more in rows if more > 0),
        "difference_if_shorter": mean(gap for gap, more in rows if more < 0),
        "winner": mean(logps[0]),
        "length_correlation": together / math.sqrt(sum(item**2 for item in x) * sum(item**2 for item in y)),
    }
