"""Stops the gradient by a hook on the statistic, which stays there for the calls that follow."""


def tdpo_loss(
    chosen_logps_margin: Tensor,
    rejected_logps_margin: Tensor,
    chosen_position_kl: Tensor,
    rejected_position_kl: Tensor,
    beta: float,
    alpha: float = 0.5,
    if_tdpo2: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    log_ratio = chosen_logps_margin - rejected_logps_margin
    if if_tdpo2:
        if chosen_position_kl.requires_grad:
            chosen_position_kl.register_hook(torch.zeros_like)
        offset = alpha * (rejected_position_kl - chosen_position_kl)
    else:
        offset = rejected_position_kl - chosen_position_kl
    losses = -F.logsigmoid(beta * (log_ratio - offset))
    chosen_rewards = beta * (chosen_logps_margin + chosen_position_kl).detach()
    rejected_rewards = beta * (rejected_logps_margin + rejected_position_kl).detach()
    return losses, chosen_rewards, rejected_rewards
