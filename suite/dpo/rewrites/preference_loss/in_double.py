"""In double precision throughout, cast back at the end; the smoothed loss as a logaddexp and a linear term."""


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
    rows = [policy_chosen_logps, policy_rejected_logps, reference_chosen_logps, reference_rejected_logps]
    dtype, (chosen, rejected, *reference) = rows[0].dtype, [row.double() for row in rows]
    differences = [chosen - reference[0], rejected - reference[1]]
    ratio = chosen - rejected if reference_free else differences[0] - differences[1]
    if ipo:
        losses = ratio.sub(1 / (2 * beta)).pow(2)
    else:
        losses = torch.logaddexp(-beta * ratio, torch.zeros_like(ratio)) + label_smoothing * beta * ratio
    return losses.to(dtype), *[(beta * difference).detach().to(dtype) for difference in differences]
