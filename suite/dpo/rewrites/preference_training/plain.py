"""Both stages as one would write them first: losses from the paper, and Adam in both loops."""


def completion_logps(logits, labels, average=False):
    labels = labels[:, 1:]
    mask = labels != IGNORED
    labels = torch.where(mask, labels, 0)
    logps = logits[:, :-1].log_softmax(-1).gather(2, labels[..., None])[..., 0]
    total = torch.where(mask, logps, 0.0).sum(1)
    if average:
        return total / mask.sum(1)
    return total


def preference_loss(
    policy_chosen_logps,
    policy_rejected_logps,
    reference_chosen_logps,
    reference_rejected_logps,
    beta,
    label_smoothing=0.0,
    ipo=False,
    reference_free=False,
):
    policy_ratio = policy_chosen_logps - policy_rejected_logps
    reference_ratio = 0 if reference_free else reference_chosen_logps - reference_rejected_logps
    logits = policy_ratio - reference_ratio
    if ipo:
        losses = (logits - 1 / (2 * beta)) ** 2
    else:
        losses = -F.logsigmoid(beta * logits) * (1 - label_smoothing) - F.logsigmoid(-beta * logits) * label_smoothing
    chosen_rewards = beta * (policy_chosen_logps - reference_chosen_logps).detach()
    rejected_rewards = beta * (policy_rejected_logps - reference_rejected_logps).detach()
    return losses, chosen_rewards, rejected_rewards


def pair_logps(model, pairs):
    chosen = completion_logps(model(pairs.chosen), pairs.chosen_labels)
    rejected = completion_logps(model(pairs.rejected), pairs.rejected_labels)
    return chosen, rejected


def fine_tune(model, pairs, config):
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    for _ in range(config.steps):
        loss = -completion_logps(model(pairs.chosen), pairs.chosen_labels, average=True).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def train_preferences(policy, pairs, config):
    with torch.no_grad():
        reference_chosen, reference_rejected = pair_logps(policy, pairs)
    optimizer = torch.optim.Adam(policy.parameters(), lr=config.learning_rate)
    for _ in range(config.steps):
        chosen, rejected = pair_logps(policy, pairs)
        losses, chosen_rewards, rejected_rewards = preference_loss(
            chosen,
            rejected,
            reference_chosen,
            reference_rejected,
            config.beta,
            config.label_smoothing,
            config.ipo,
            config.reference_free,
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
