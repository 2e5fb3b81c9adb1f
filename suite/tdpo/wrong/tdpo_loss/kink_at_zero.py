"""Has a gradient of zero where the policy is the reference, as when training starts."""


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
        offset = alpha * (rejected_position_kl - chosen_position_kl.detach())
    else:
        offset = rejected_position_kl - chosen_position_kl
    margin = beta * (log_ratio - offset)
    losses = F.relu(-margin) + torch.log1p(torch.exp(-margin.abs()))
    chosen_rewards = beta * (chosen_logps_margin + chosen_position_kl).detach()
    rejected_rewards = beta * (rejected_logps_margin + rejected_position_kl).detach()
    return losses, chosen_rewards, rejected_rewards
