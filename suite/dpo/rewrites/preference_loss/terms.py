"""Equation 7's own order: beta times each of the four log-probabilities, then signed sums; a two-way log-softmax."""


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
    logps = [policy_chosen_logps, policy_rejected_logps, reference_chosen_logps, reference_rejected_logps]
    chosen, rejected, *reference = [beta * row for row in logps]
    chosen_rewards, rejected_rewards = chosen - reference[0], rejected - reference[1]
    scores = [chosen, rejected] if reference_free else [chosen_rewards, rejected_rewards]
    if ipo:
        losses = (scores[0] / beta - scores[1] / beta - 0.5 / beta).square()
    else:
        classes = torch.stack(scores, dim=-1).log_softmax(-1)
        losses = -(1 - label_smoothing) * classes[..., 0] - label_smoothing * classes[..., 1]
    return [losses, chosen_rewards.detach(), rejected_rewards.detach()]
