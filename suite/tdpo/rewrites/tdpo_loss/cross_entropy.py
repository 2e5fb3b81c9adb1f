"""A cross-entropy between two scores, which PyTorch has."""


def tdpo_loss(
    chosen_logps_margin,
    rejected_logps_margin,
    chosen_position_kl,
    rejected_position_kl,
    beta,
    alpha=0.5,
    if_tdpo2=True,
):
    with torch.no_grad():
        chosen_rewards = (chosen_logps_margin + chosen_position_kl) * beta
        rejected_rewards = (rejected_logps_margin + rejected_position_kl) * beta
        baseline = chosen_position_kl * alpha
    if if_tdpo2:
        scores = [chosen_logps_margin + baseline, rejected_logps_margin + alpha * rejected_position_kl]
    else:
        scores = [chosen_logps_margin + chosen_position_kl, rejected_logps_margin + rejected_position_kl]
    scores = torch.stack(scores, dim=-1) * beta
    first = torch.zeros(len(scores), dtype=torch.long, device=scores.device)
    return F.cross_entropy(scores, first, reduction="none"), chosen_rewards, rejected_rewards
