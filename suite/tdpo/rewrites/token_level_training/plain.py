"""The method as one would write it first: the paper's losses, and PyTorch's optimizers."""


def completion_mask(labels):
    return labels[:, 1:] != IGNORED


def token_logps(logits, labels):
    logps = logits[:, :-1].log_softmax(-1)
    tokens = labels[:, 1:].clamp(min=0)
    return logps.gather(2, tokens[..., None])[..., 0] * completion_mask(labels)


def sequential_kl(logits, reference_logits, labels):
    logps = logits[:, :-1].log_softmax(-1)
    reference_logps = reference_logits[:, :-1].log_softmax(-1)
    kl = (reference_logps.exp() * (reference_logps - logps)).sum(-1)
    return (kl * completion_mask(labels)).sum(1)


def pair_statistics(policy, reference, pairs):
    statistics = []
    for tokens, labels in ((pairs.chosen, pairs.chosen_labels), (pairs.rejected, pairs.rejected_labels)):
        logits = policy(tokens)
        with torch.no_grad():
            reference_logits = reference(tokens)
        margin = (token_logps(logits, labels) - token_logps(reference_logits, labels)).sum(1)
        statistics.append((margin, sequential_kl(logits, reference_logits, labels)))
    (chosen_margin, chosen_kl), (rejected_margin, rejected_kl) = statistics
    return PairStatistics(chosen_margin, rejected_margin, chosen_kl, rejected_kl)


def tdpo_loss(
    chosen_logps_margin,
    rejected_logps_margin,
    chosen_position_kl,
    rejected_position_kl,
    beta,
    alpha=0.5,
    if_tdpo2=True,
):
    u = beta * (chosen_logps_margin - rejected_logps_margin)
    if if_tdpo2:
        delta = alpha * (beta * rejected_position_kl - (beta * chosen_position_kl).detach())
    else:
        delta = beta * rejected_position_kl - beta * chosen_position_kl
    losses = -F.logsigmoid(u - delta)
    chosen_rewards = beta * (chosen_logps_margin + chosen_position_kl).detach()
    rejected_rewards = beta * (rejected_logps_margin + rejected_position_kl).detach()
    return losses, chosen_rewards, rejected_rewards


def fine_tune(model, pairs, config):
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    generator = torch.Generator().manual_seed(config.seed)
    for batch in minibatches(pairs, config.batch_size, config.steps, generator):
        total, count = 0, 0
        for tokens, labels in ((batch.chosen, batch.chosen_labels), (batch.rejected, batch.rejected_labels)):
            total = total - token_logps(model(tokens), labels).sum()
            count = count + completion_mask(labels).sum()
        loss = total / count
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def train_preferences(policy, pairs, config):
    reference = copy.deepcopy(policy)
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=config.learning_rate, eps=1e-4)
    generator = torch.Generator().manual_seed(config.seed)
    batches = minibatches(pairs, config.batch_size, config.steps, generator)
    for step, batch in enumerate(batches, start=1):
        optimizer.param_groups[0]["lr"] = config.learning_rate * min(1, step / config.warmup_steps)
        statistics = pair_statistics(policy, reference, batch)
        losses, chosen_rewards, rejected_rewards = tdpo_loss(
            statistics.chosen_logps_margin,
            statistics.rejected_logps_margin,
            statistics.chosen_position_kl,
            statistics.rejected_position_kl,
            config.beta,
            config.alpha,
            config.if_tdpo2,
        )
        loss = losses.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {
        "loss": loss.item(),
        "chosen_reward": chosen_rewards.mean().item(),
        "reward_margin": (chosen_rewards - rejected_rewards).mean().item(),
    }


@torch.no_grad()
def evaluate(policy, reference, pairs):
    statistics = pair_statistics(policy, reference, pairs)
    chosen_kl = statistics.chosen_position_kl.mean().item()
    rejected_kl = statistics.rejected_position_kl.mean().item()
    gain = statistics.chosen_logps_margin - statistics.rejected_logps_margin
    return {
        "chosen_kl": chosen_kl,
        "rejected_kl": rejected_kl,
        "kl_gap": abs(chosen_kl - rejected_kl),
        "preference_gain": gain.mean().item(),
        "entropy": token_entropy(policy, pairs),
    }


@torch.no_grad()
def token_entropy(model, pairs):
    tokens = torch.cat([pairs.chosen, pairs.rejected])
    mask = completion_mask(torch.cat([pairs.chosen_labels, pairs.rejected_labels]))
    logps = model(tokens)[:, :-1].log_softmax(-1)
    entropy = -(logps.exp() * logps).sum(-1)
    return entropy[mask].mean().item()
