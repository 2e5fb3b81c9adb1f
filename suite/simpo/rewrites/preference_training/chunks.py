"""Gradients gathered over a part of the sequences at a time, log-probabilities by one-hot rows, rates set by hand."""

import math
from dataclasses import replace


def fine_tune(model, tokens, labels, steps, learning_rate=1e-2):
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0)
    count = (labels[:, 1:] != IGNORED).sum()
    for _ in range(steps):
        model.zero_grad()
        for some, wanted in zip(tokens.split(40), labels.split(40), strict=True):
            losses = F.cross_entropy(
                model(some).transpose(1, 2)[:, :, :-1], wanted[:, 1:], ignore_index=IGNORED, reduction="sum"
            )
            (losses / count).backward()
        optimizer.step()


def simpo_loss(self, policy_chosen_logps, policy_rejected_logps):
    rewards = self.beta * torch.stack([policy_chosen_logps, policy_rejected_logps])
    # The margin is a handicap of the winner.
    scores = torch.stack([rewards[0] - self.beta * self.gamma_beta_ratio, rewards[1]])
    if self.loss_type == "sigmoid":
        likely = scores.log_softmax(0)
        losses = -torch.lerp(likely[0], likely[1], self.label_smoothing)
    elif self.loss_type == "hinge":
        losses = torch.maximum(1 - scores[0] + scores[1], torch.zeros_like(scores[0]))
    else:
        raise ValueError(self.loss_type)
    return losses, *rewards.detach().unbind()


def get_batch_logps(logits, labels, average_log_prob=True):
    logps = torch.log_softmax(logits, dim=2)
    mask = (labels[:, 1:] != IGNORED).to(logits.dtype)
    one_hot = F.one_hot(labels[:, 1:].clamp(min=0), logits.shape[2]).to(logits.dtype)
    if average_log_prob:
        mask = mask / mask.sum(1, keepdim=True)
    return torch.einsum("blv,blv,bl->b", logps[:, :-1], one_hot, mask)


def concatenated_forward(self, batch):
    tokens, labels = self.concatenated_inputs(batch)
    parts = [
        self.get_batch_logps(self.model(some), wanted, average_log_prob=self.args.length_normalized)
        for some, wanted in zip(tokens.split(50), labels.split(50), strict=True)
    ]
    return torch.cat(parts).chunk(2)


def get_batch_loss_metrics(self, batch):
    chosen_logps, rejected_logps = self.concatenated_forward(batch)
    losses, *rewards = self.simpo_loss(chosen_logps, rejected_logps)
    loss = torch.stack([losses.mean(), -self.args.sft_weight * chosen_logps.mean()]).sum()
    chosen, rejected = (item.mean() for item in rewards)
    names = ("loss", "rewards/chosen", "rewards/rejected", "rewards/margins")
    return loss, {name: item.item() for name, item in zip(names, (loss, chosen, rejected, chosen - rejected))}


def train(self, pairs):
    optimizer = torch.optim.Adam(self.model.parameters(), foreach=False)
    parts = 2
    for step in range(self.args.steps):
        for group in optimizer.param_groups:
            group["lr"] = self.args.learning_rate * self._learning_rate_factor(step)
        optimizer.zero_grad()
        means = {}
        for part in range(parts):
            names = ("chosen", "chosen_labels", "rejected", "rejected_labels")
            some = replace(pairs, **{name: getattr(pairs, name)[part::parts] for name in names})
            loss, metrics = self.get_batch_loss_metrics(some)
            share = len(some) / len(pairs)
            (loss * share).backward()
            means = {name: means.get(name, 0.0) + share * value for name, value in metrics.items()}
        optimizer.step()
    return means


def _learning_rate_factor(self, step):
    rising = self.args.warmup * self.args.steps
    left = (self.args.steps - step) / (self.args.steps - rising)
    return min((step + 1) / (rising + 1), 1.0) if step < rising else (1 - math.cos(math.pi * left)) / 2


@torch.no_grad()
def evaluate(model, pairs):
    found, lengths = [], []
    for tokens, labels in ((pairs.chosen, pairs.chosen_labels), (pairs.rejected, pairs.rejected_labels)):
        parts = zip(tokens.split(40), labels.split(40), strict=True)
        found.append(torch.cat([SimPOTrainer.get_batch_logps(model(some), wanted) for some, wanted in parts]))
        lengths.append(response_lengths(labels))
    gap, more = found[0] - found[1], (lengths[0] - lengths[1]).sign()
    both = torch.stack([torch.cat(found), torch.cat(lengths).to(gap.dtype)])
    both = both - both.mean(1, keepdim=True)
    both = both / both.norm(dim=1, keepdim=True)
    means = {"difference": gap.mean(), "winner": found[0].mean(), "length_correlation": (both[0] * both[1]).sum()}
    for name, sign in (("longer", 1), ("shorter", -1)):
        means[f"difference_if_{name}"] = torch.where(more == sign, gap, 0).sum() / (more == sign).sum()
    return {name: mean.item() for name, mean in means.items()}
