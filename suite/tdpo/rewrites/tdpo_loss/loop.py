"""One pair at a time, with log(1 + exp) by logaddexp."""


def tdpo_loss(
    chosen_logps_margin,
    rejected_logps_margin,
    chosen_position_kl,
    rejected_position_kl,
    beta,
    alpha=0.5,
    if_tdpo2=True,
):
    weight = alpha if if_tdpo2 else 1.0
    zero = beta * chosen_logps_margin.new_zeros(())
    losses = []
    rows = zip(chosen_logps_margin, rejected_logps_margin, chosen_position_kl, rejected_position_kl, strict=True)
    for chosen, rejected, chosen_kl, rejected_kl in rows:
        if if_tdpo2:
            chosen_kl = chosen_kl.detach()
        value = chosen - rejected + weight * chosen_kl - weight * rejected_kl
        losses.append(torch.logaddexp(zero, -beta * value))
    # An empty batch still hangs on the inputs.
    stacked = torch.stack(losses) if losses else chosen_logps_margin + rejected_position_kl
    chosen_rewards = chosen_logps_margin.detach() * beta + chosen_position_kl.detach() * beta
    rejected_rewards = rejected_logps_margin.detach() * beta + rejected_position_kl.detach() * beta
    return stacked, chosen_rewards, rejected_rewards
