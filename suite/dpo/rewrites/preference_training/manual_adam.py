"""One pair at a time, cross-entropy for log-probabilities, and Adam written out."""


def completion_logps(logits, labels, average=False):
    found = []
    for row in range(len(labels)):
        kept = [place for place in range(1, labels.shape[1]) if labels[row, place] != IGNORED]
        losses = F.cross_entropy(logits[row, [place - 1 for place in kept]], labels[row, kept], reduction="none")
        found.append(-losses.mean() if average else -losses.sum())
    return torch.stack(found)


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
    losses = []
    for index in range(len(policy_chosen_logps)):
        ratio = policy_chosen_logps[index] - policy_rejected_logps[index]
        if not reference_free:
            ratio = ratio + reference_rejected_logps[index] - reference_chosen_logps[index]
        if ipo:
            losses.append((ratio - 0.5 / beta).pow(2))
        else:
            kept, flipped = F.softplus(-beta * ratio), F.softplus(beta * ratio)
            losses.append((1 - label_smoothing) * kept + label_smoothing * flipped)
    chosen = (policy_chosen_logps.detach() - reference_chosen_logps.detach()) * beta
    rejected = (policy_rejected_logps.detach() - reference_rejected_logps.detach()) * beta
    return torch.stack(losses), chosen, rejected


def pair_logps(model, pairs):
    logits = [model(tokens) for tokens in (pairs.chosen, pairs.rejected)]
    return completion_logps(logits[0], pairs.chosen_labels), completion_logps(logits[1], pairs.rejected_labels)


def adam_steps(model, config, loss_of):
    parameters = list(model.parameters())
    first, second = ([torch.zeros_like(item) for item in parameters] for _ in range(2))
    for step in range(1, config.steps + 1):
        gradients = torch.autograd.grad(loss_of(), parameters)
        with torch.no_grad():
            for item, gradient, mean, square in zip(parameters, gradients, first, second, strict=True):
                mean += (gradient - mean) * (1 - 0.9)
                square += (gradient**2 - square) * (1 - 0.999)
                scale = (square / (1 - 0.999**step)).sqrt() + 1e-8
                item -= config.learning_rate / (1 - 0.9**step) * mean / scale


def fine_tune(model, pairs, config):
    adam_steps(model, config, lambda: -completion_logps(model(pairs.chosen), pairs.chosen_labels, True).mean())


def train_preferences(policy, pairs, config):
    with torch.no_grad():
        reference = [item.clone() for item in pair_logps(policy, pairs)]
    options = [config.beta, config.label_smoothing, config.ipo, config.reference_free]
    metrics = {}

    def loss():
        losses, chosen, rejected = preference_loss(*pair_logps(policy, pairs), *reference, *options)
        metrics["loss"] = losses.mean().item()
        metrics["chosen_reward"] = chosen.mean().item()
        metrics["reward_margin"] = metrics["chosen_reward"] - rejected.mean().item()
        return losses.mean()

    adam_steps(policy, config, loss)
    return metrics
