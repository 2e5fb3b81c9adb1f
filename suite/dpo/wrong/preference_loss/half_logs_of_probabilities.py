"""Takes logarithms of probabilities in half precision, where its range seems small enough."""


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
        losses = (log_ratio - 1 / (2 * beta)) ** 2
    else:
        margin = beta * log_ratio
        if log_ratio.dtype in (torch.float16, torch.bfloat16):
            right, wrong = (torch.log(torch.sigmoid(u).clamp(min=1e-4)) for u in (margin, -margin))
        else:
            right, wrong = F.logsigmoid(margin), F.logsigmoid(-margin)
        losses = -(1 - label_smoothing) * right - label_smoothing * wrong
    chosen_rewards = beta * (policy_chosen_logps - reference_chosen_logps).detach()
    rejected_rewards = beta * (policy_rejected_logps - reference_rejected_logps).detach()
    return losses, chosen_rewards, rejected_rewards
