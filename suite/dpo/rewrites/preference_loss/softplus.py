"""Softplus of signed margins, from the two rewards' difference."""


def preference_loss(
    policy_chosen_logps,
    policy_rejected_logps,
    reference_chosen_logps,
    reference_rejected_logps,
    beta,
    label_smoothing=0.0,
    ipo=False,
    reference_free=False,
):
    chosen = beta * (policy_chosen_logps - reference_chosen_logps)
    rejected = beta * (policy_rejected_logps - reference_rejected_logps)
    margin = beta * (policy_chosen_logps - policy_rejected_logps) if reference_free else chosen - rejected
    if ipo:
        losses = torch.square((margin - 0.5) / beta)
    else:
        losses = torch.lerp(F.softplus(-margin), F.softplus(margin), label_smoothing)
    return losses, chosen.detach(), rejected.detach()
