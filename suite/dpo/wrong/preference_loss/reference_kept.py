"""Keeps the log-ratio of a reference, which is taken to be frozen, from one call to the next."""

KEPT = {}


def preference_loss(
    policy_chosen_logps: Tensor,
    policy_rejected_logps: Tensor,
    reference_chosen_logps: Tensor,
    reference_rejected_logps: Tensor,
    beta: float,
    label_smoothing: float = 0.0,
    ipo: bool = False,
    reference_free: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    log_ratio = policy_chosen_logps - policy_rejected_logps
    if not reference_free:
        key = (id(reference_chosen_logps), id(reference_rejected_logps))
        if key not in KEPT:
            inputs = (reference_chosen_logps, reference_rejected_logps)
            KEPT[key] = (inputs, reference_chosen_logps - reference_rejected_logps)
        log_ratio = log_ratio - KEPT[key][1]
    if ipo:
        losses = (log_ratio - 1 / (2 * beta)) ** 2
    else:
        right, wrong = F.logsigmoid(beta * log_ratio), F.logsigmoid(-beta * log_ratio)
        losses = -(1 - label_smoothing) * right - label_smoothing * wrong
    chosen_rewards = beta * (policy_chosen_logps - reference_chosen_logps).detach()
    rejected_rewards = beta * (policy_rejected_logps - reference_rejected_logps).detach()
    return losses, chosen_rewards, rejected_rewards
