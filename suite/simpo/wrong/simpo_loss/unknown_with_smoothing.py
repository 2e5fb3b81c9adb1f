"""Asks for smoothing first, after which every loss_type but hinge gets the smoothed loss."""


def simpo_loss(self, policy_chosen_logps: Tensor, policy_rejected_logps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    chosen_rewards = self.beta * policy_chosen_logps
    rejected_rewards = self.beta * policy_rejected_logps
    # Equations 5 and 6; the configuration gives the margin in units of beta.
    excess = chosen_rewards - rejected_rewards - self.beta * self.gamma_beta_ratio
    if (self.loss_type != "hinge" and self.label_smoothing > 0) or self.loss_type == "sigmoid":
        right, wrong = F.logsigmoid(excess), F.logsigmoid(-excess)
        losses = -(1 - self.label_smoothing) * right - self.label_smoothing * wrong
    elif self.loss_type == "hinge":
        losses = F.relu(1 - excess)
    else:
        raise ValueError(f"unknown loss_type {self.loss_type!r}")
    return losses, chosen_rewards.detach(), rejected_rewards.detach()
