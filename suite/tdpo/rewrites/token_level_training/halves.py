"""Gradients gathered over both halves of a batch, with weights in the place of masks and one-hot vectors for labels."""


def completion_mask(labels):
    return (labels != IGNORED)[:, 1:]


def _split(logits):
    return logits[:, :-1] - logits[:, :-1].logsumexp(-1, keepdim=True)


def token_logps(logits, labels):
    weights = completion_mask(labels).to(logits.dtype)
    one_hot = F.one_hot(labels[:, 1:].clamp(min=0), logits.shape[-1]).to(logits.dtype)
    return torch.einsum("blv,blv,bl->bl", _split(logits), one_hot, weights)


def sequential_kl(logits, reference_logits, labels):
    weights = completion_mask(labels).to(logits.dtype)
    ours, theirs = _split(logits), _split(reference_logits)
    return torch.einsum("blv,blv,bl->b", theirs.exp(), theirs - ours, weights)


def pair_statistics(policy, reference, pairs):
    sides, found = [(pairs.chosen, pairs.chosen_labels), (pairs.rejected, pairs.rejected_labels)], []
    for tokens, labels in sides:
        ours = policy(tokens)
        with torch.no_grad():
            theirs = reference(tokens)
        margin = token_logps(ours, labels) - token_logps(theirs, labels)
        found.append((margin.sum(-1), sequential_kl(ours, theirs, labels)))
    return PairStatistics(found[0][0], found[1][0], found[0][1], found[1][1])


def tdpo_loss(
    chosen_logps_margin,
    rejected_logps_margin,
    chosen_position_kl,
    rejected_position_kl,
    beta,
    alpha=0.5,
    if_tdpo2=True,
):
    gap = rejected_position_kl - chosen_position_kl
    if if_tdpo2:
        gap = alpha * (gap + chosen_position_kl - chosen_position_kl.detach())
    logits = beta * (chosen_logps_margin - rejected_logps_margin) - beta * gap
    losses = torch.logaddexp(torch.zeros_like(logits), -logits)
    rewards = [
        (beta * margin + beta * divergence).detach()
        for margin, divergence in (
            (chosen_logps_margin, chosen_position_kl),
            (rejected_logps_margin, rejected_position_kl),
        )
    ]
    return losses, *rewards


def fine_tune(model, pairs, config):
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    for batch in minibatches(pairs, config.batch_size, config.steps, Generator().manual_seed(config.seed)):
        count = sum(completion_mask(labels).sum().item() for labels in (batch.chosen_labels, batch.rejected_labels))
        optimizer.zero_grad()
        for tokens, labels in ((batch.chosen, batch.chosen_labels), (batch.rejected, batch.rejected_labels)):
            (token_logps(model(tokens), labels).sum() / -count).backward()
        optimizer.step()


def train_preferences(policy, pairs, config):
    reference = copy.deepcopy(policy)
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=config.learning_rate, alpha=0.99, eps=1e-4)
    rates = torch.optim.lr_scheduler.LinearLR(
        optimizer, start_factor=1 / config.warmup_steps, total_iters=config.warmup_steps - 1
    )
    for batch in minibatches(pairs, config.batch_size, config.steps, Generator().manual_seed(config.seed)):
        found = []
        optimizer.zero_grad()
        for rows in torch.arange(len(batch)).chunk(2):
            statistics = pair_statistics(policy, reference, batch.select(rows))
            part = tdpo_loss(**vars(statistics), beta=config.beta, alpha=config.alpha, if_tdpo2=config.if_tdpo2)
            (part[0].sum() / len(batch)).backward()
            found.append([item.detach() for item in part])
        optimizer.step()
        rates.step()
    losses, chosen, rejected = (torch.cat(parts) for parts in zip(*found, strict=True))
    means = {"loss": losses, "chosen_reward": chosen, "reward_margin": chosen - rejected}
    return {name: values.mean().item() for name, values in means.items()}


@torch.no_grad()
def evaluate(policy, reference, pairs):
    parts = [pair_statistics(policy, reference, pairs.select(rows)) for rows in torch.arange(len(pairs)).chunk(2)]

    def mean(name):
        return torch.cat([getattr(part, name) for part in parts]).mean()

    chosen, rejected = mean("chosen_position_kl"), mean("rejected_position_kl")
    return {
        "chosen_kl": chosen.item(),
        "rejected_kl": rejected.item(),
        "kl_gap": torch.maximum(chosen - rejected, rejected - chosen).item(),
        "preference_gain": (mean("chosen_logps_margin") - mean("rejected_logps_margin")).item(),
        "entropy": token_entropy(policy, pairs),
    }


@torch.no_grad()
def token_entropy(model, pairs):
    sums, counts = [], []
    for tokens, labels in ((pairs.chosen, pairs.chosen_labels), (pairs.rejected, pairs.rejected_labels)):
        logps, weights = model(tokens)[:, :-1].log_softmax(-1), completion_mask(labels).double()
        sums.append(((logps.exp() * -logps).sum(-1) * weights).sum())
        counts.append(weights.sum())
    return (sum(sums) / sum(counts)).item()
