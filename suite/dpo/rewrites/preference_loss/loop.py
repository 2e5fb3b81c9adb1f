"""One pair at a time, with log(1 + exp) by logaddexp."""


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
    losses = []
    zero = policy_chosen_logps.new_zeros(())
    for index in range(len(policy_chosen_logps)):
        ratio = policy_chosen_logps[index] - policy_rejected_logps[index]
        if not reference_free:
            ratio = ratio + reference_rejected_logps[index] - reference_chosen_logps[index]
        if ipo:
            losses.append((ratio - 0.5 / beta).pow(2))
        else:
            kept = torch.logaddexp(zero, -beta * ratio)
            flipped = torch.logaddexp(zero, beta * ratio)
            losses.append((1 - label_smoothing) * kept + label_smoothing * flipped)
    # An empty batch still hangs on the inputs.
    stacked = torch.stack(losses) if losses else policy_chosen_logps + policy_rejected_logps
    chosen = (policy_chosen_logps.detach() - reference_chosen_logps.detach()) * beta
    rejected = (policy_rejected_logps.detach() - reference_rejected_logps.detach()) * beta
    return stacked, chosen, rejected
