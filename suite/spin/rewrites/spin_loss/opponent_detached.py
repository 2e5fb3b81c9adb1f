"""Stops gradients at the opponent, and writes both losses with log1p, minimum and absolute values."""


def spin_loss(
    self,
    policy_real_logps,
    policy_generated_logps,
    opponent_real_logps,
    opponent_generated_logps,
    reference_free=False,
):
    real_gap = policy_real_logps - opponent_real_logps.detach()
    generated_gap = policy_generated_logps - opponent_generated_logps.detach()
    if reference_free:
        margin = self.beta * (policy_real_logps - policy_generated_logps)
    else:
        margin = self.beta * (real_gap - generated_gap)
    match self.loss_type:
        case "sigmoid":
            losses = torch.log1p(torch.exp(-margin.abs())) - torch.minimum(margin, torch.zeros_like(margin))
        case "hinge":
            losses = ((1 - margin).abs() + (1 - margin)) / 2
        case unknown:
            raise ValueError(unknown)
    return losses, (self.beta * real_gap).detach(), (self.beta * generated_gap).detach()
