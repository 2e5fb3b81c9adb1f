"""Both completions of a pair in one batch through the model; losses by the softmax of two scores."""


def completion_logps(logits, labels, average=False):
    shifted, targets = logits.narrow(1, 0, logits.shape[1] - 1), labels.narrow(1, 1, labels.shape[1] - 1)
    losses = F.cross_entropy(shifted.transpose(1, 2), targets, ignore_index=IGNORED, reduction="none")
    weights = (targets != IGNORED).to(logits.dtype)
    if average:
        weights = weights / weights.sum(1, keepdim=True)
    return torch.einsum("bl,bl->b", -losses, weights)


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
    policy = torch.stack([policy_chosen_logps, policy_rejected_logps])
    rewards = beta * (policy - torch.stack([reference_chosen_logps, reference_rejected_logps]))
    scores = beta * policy if reference_free else rewards
    if ipo:
        losses = ((scores[0] - scores[1]) / beta - 1 / (2 * beta)).square()
    else:
        likely = scores.log_softmax(0)
        losses = -torch.lerp(likely[0], likely[1], label_smoothing)
    return losses, *rewards.detach().unbind()


def _joined(tokens, others, value):
    length = max(tokens.shape[1], others.shape[1])
    return torch.cat([F.pad(item, (0, length - item.shape[1]), value=value) for item in (tokens, others)])


def pair_logps(model, pairs):
    tokens = _joined(pairs.chosen, pairs.rejected, 0)
    labels = _joined(pairs.chosen_labels, pairs.rejected_labels, -100)
    return completion_logps(model(tokens), labels).chunk(2)


def fine_tune(model, pairs, config):
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=0)
    for _ in range(config.steps):
        loss = -completion_logps(model(pairs.chosen), pairs.chosen_labels, True).sum() / len(pairs.chosen)
        for parameter in model.parameters():
            parameter.grad = None
        loss.backward()
        optimizer.step()


def train_preferences(policy, pairs, config):
    reference = [item.detach().clone() for item in pair_logps(policy, pairs)]
    optimizer = torch.optim.Adam(policy.parameters(), config.learning_rate, foreach=False)
    for _ in range(config.steps):
        losses, chosen, rejected = preference_loss(
            *pair_logps(policy, pairs),
            *reference,
            config.beta,
            config.label_smoothing,
            config.ipo,
            config.reference_free,
        )
        policy.zero_grad()
        losses.mean().backward()
        optimizer.step()
    means = [item.detach().mean() for item in (losses, chosen, chosen - rejected)]
    return {name: mean.item() for name, mean in zip(("loss", "chosen_reward", "reward_margin"), means, strict=True)}
