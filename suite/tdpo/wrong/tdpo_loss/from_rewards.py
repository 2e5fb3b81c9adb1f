"""Makes the second version from the rewards' difference and takes off what is too much, which cancels."""


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
    offset = rejected_position_kl - chosen_position_kl
    if if_tdpo2:
        baseline = chosen_position_kl.detach()
        difference = (chosen_logps_margin + baseline) - (rejected_logps_margin + rejected_position_kl)
        argument = difference + (1 - alpha) * (rejected_position_kl - baseline)
    else:
        argument = log_ratio - offset
    losses = -F.logsigmoid(beta * argument)
    chosen_rewards = beta * (chosen_logps_margin + chosen_position_kl).detach()
    rejected_rewards = beta * (rejected_logps_margin + rejected_position_kl).detach()
    return losses, chosen_rewards, rejected_rewards
