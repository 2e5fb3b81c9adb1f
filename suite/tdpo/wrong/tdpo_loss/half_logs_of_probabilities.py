"""Takes logarithms of probabilities in half precision, where its range seems small enough."""


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
    argument = beta * (log_ratio - offset)
    if argument.dtype in (torch.float16, torch.bfloat16):
        losses = -torch.log(torch.sigmoid(argument).clamp(min=1e-4))
    else:
        losses = -F.logsigmoid(argument)
    chosen_rewards = beta * (chosen_logps_margin + chosen_position_kl).detach()
    rejected_rewards = beta * (rejected_logps_margin + rejected_position_kl).detach()
    return losses, chosen_rewards, rejected_rewards
