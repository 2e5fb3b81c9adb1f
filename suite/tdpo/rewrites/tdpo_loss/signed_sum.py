"""A signed sum over the stacked statistics, with the stopped copy stacked too."""

SIGNS = {True: (1.0, -1.0, 0.0, -1.0, 1.0), False: (1.0, -1.0, 1.0, -1.0, 0.0)}


def tdpo_loss(
    chosen_logps_margin,
    rejected_logps_margin,
    chosen_position_kl,
    rejected_position_kl,
    beta,
    alpha=0.5,
    if_tdpo2=True,
):
    rows = [chosen_logps_margin, rejected_logps_margin, chosen_position_kl, rejected_position_kl]
    stacked = torch.stack([*rows, chosen_position_kl.detach()])
    signs = stacked.new_tensor(SIGNS[bool(if_tdpo2)])
    if if_tdpo2:
        signs = signs * signs.new_tensor([1.0, 1.0, 1.0, alpha, alpha])
    losses = F.binary_cross_entropy_with_logits(
        beta * torch.einsum("s,sb->b", signs, stacked), torch.ones_like(chosen_logps_margin), reduction="none"
    )
    rewards = beta * (stacked[:2] + stacked[2:4]).detach()
    return losses, rewards[0], rewards[1]
