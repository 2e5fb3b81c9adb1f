"""A binary cross-entropy with soft targets, which PyTorch has."""


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
    policy = policy_chosen_logps - policy_rejected_logps
    reference = torch.zeros_like(policy) if reference_free else reference_chosen_logps - reference_rejected_logps
    logits = policy - reference
    if ipo:
        losses = F.mse_loss(logits, torch.full_like(logits, 1 / (2 * beta)), reduction="none")
    else:
        targets = torch.full_like(logits, 1 - label_smoothing)
        losses = F.binary_cross_entropy_with_logits(beta * logits, targets, reduction="none")
    with torch.no_grad():
        rewards = [
            (policy_chosen_logps - reference_chosen_logps) * beta,
            (policy_rejected_logps - reference_rejected_logps) * beta,
        ]
    return losses, *rewards
