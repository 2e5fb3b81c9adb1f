"""The losses as the paper writes them."""


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
