"""Fine-tuning gathers gradients over a few pairs at a time, and every mean taken at the end."""


def completion_logps(logits, labels, average=False):
    logps = torch.log_softmax(logits, dim=2)
    mask = (labels[:, 1:] != IGNORED).to(logits.dtype)
    one_hot = F.one_hot(labels[:, 1:].clamp(min=0), logits.shape[2]).to(logits.dtype)
    total = (logps[:, :-1] * one_hot * mask.unsqueeze(2)).sum((1, 2))
    return total / mask.sum(1) if average else total


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
    ours, theirs = policy_chosen_logps - policy_rejected_logps, reference_chosen_logps - reference_rejected_logps
    margin = beta * (ours - (0 * theirs if reference_free else theirs))
    if ipo:
        losses = (margin / beta - 0.5 / beta) ** 2
    else:
        zeros = torch.zeros_like(margin)
        losses = torch.logaddexp(zeros, -margin) + label_smoothing * margin
    with torch.no_grad():
        rewards = [
            beta * policy_chosen_logps - beta * reference_chosen_logps,
            beta * policy_rejected_logps - beta * reference_rejected_logps,
        ]
    return losses, *rewards


def pair_logps(model, pairs):
    sides = ((pairs.chosen, pairs.chosen_labels), (pairs.rejected, pairs.rejected_labels))
    return tuple(completion_logps(model(tokens), labels) for tokens, labels in sides)


def fine_tune(model, pairs, config):
    optimizer, count = torch.optim.Adam(model.parameters(), lr=config.learning_rate), len(pairs.chosen)
    for _ in range(config.steps):
        optimizer.zero_grad()
        for tokens, labels in zip(pairs.chosen.split(24), pairs.chosen_labels.split(24), strict=True):
            (-completion_logps(model(tokens), labels, average=True).sum() / count).backward()
        optimizer.step()


def train_preferences(policy, pairs, config):
    frozen = copy.deepcopy(policy)
    reference = [item.detach() for item in pair_logps(frozen, pairs)]
    optimizer = torch.optim.Adam(policy.parameters(), lr=config.learning_rate)
    history = []
    for _ in range(config.steps):
        found = preference_loss(
            *pair_logps(policy, pairs),
            *reference,
            beta=config.beta,
            label_smoothing=config.label_smoothing,
            ipo=config.ipo,
            reference_free=config.reference_free,
        )
        optimizer.zero_grad()
        (found[0].sum() / len(found[0])).backward()
        history.append([item.tolist() for item in found])
        optimizer.step()
    losses, chosen, rejected = (torch.tensor(item, dtype=torch.float64) for item in history[-1])
    return {
        "loss": losses.mean().item(),
        "chosen_reward": chosen.mean().item(),
        "reward_margin": (chosen.mean() - rejected.mean()).item(),
    }
