"""Multiplies the square of IPO out, which cancels near its target."""


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
        log_ratio = log_ratio - (reference_chosen_logps - reference_rejected_logps)
    if ipo:
        losses = log_ratio**2 - log_ratio / beta + 1 / (4 * beta**2)
    else:
        right, wrong = F.logsigmoid(beta * log_ratio), F.logsigmoid(-beta * log_ratio)
        losses = -(1 - label_smoothing) * right - label_smoothing * wrong
    chosen_rewards = beta * (policy_chosen_logps - reference_chosen_logps).detach()
    rejected_rewards = beta * (policy_rejected_logps - reference_rejected_logps).detach()
    return losses, chosen_rewards, rejected_rewards
