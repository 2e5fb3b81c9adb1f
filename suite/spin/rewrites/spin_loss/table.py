"""The loss functions in a table, applied to differences of responses instead of models."""

LOSSES = {"sigmoid": lambda t: F.softplus(-t), "hinge": lambda t: (1 - t).clamp(min=0)}


def spin_loss(
    self,
    policy_real_logps,
    policy_generated_logps,
    opponent_real_logps,
    opponent_generated_logps,
    reference_free=False,
):
    if self.loss_type not in LOSSES:
        raise ValueError(f"loss_type must be one of {sorted(LOSSES)}")
    with torch.no_grad():
        real_rewards = (policy_real_logps - opponent_real_logps) * self.beta
        generated_rewards = (policy_generated_logps - opponent_generated_logps) * self.beta
    prior = torch.zeros_like(opponent_real_logps) if reference_free else opponent_generated_logps - opponent_real_logps
    return (
        LOSSES[self.loss_type](self.beta * (policy_real_logps - policy_generated_logps + prior)),
        real_rewards,
        generated_rewards,
    )
