"""Rewards first: the first version compares the two of them, the second corrects them."""


def tdpo_loss(
    chosen_logps_margin,
    rejected_logps_margin,
    chosen_position_kl,
    rejected_position_kl,
    beta,
    alpha=0.5,
    if_tdpo2=True,
):
    chosen = beta * (chosen_logps_margin + chosen_position_kl)
    rejected = beta * (rejected_logps_margin + rejected_position_kl)
    if if_tdpo2:
        baseline = chosen_position_kl.clone().detach()
        difference = beta * chosen_logps_margin - beta * rejected_logps_margin
        difference = difference - alpha * beta * rejected_position_kl + alpha * beta * baseline
    else:
        difference = chosen - rejected
    return F.softplus(-difference), chosen.detach(), rejected.detach()
