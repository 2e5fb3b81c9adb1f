"""Returns early from an empty batch, whatever the loss_type is."""


def simpo_loss(self, policy_chosen_logps: Tensor, policy_rejected_logps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    if len(policy_chosen_logps) == 0:
        return tuple(policy_chosen_logps.detach().clone() for _ in range(3))
    chosen_rewards = self.beta * policy_chosen_logps
    rejected_rewards = self.beta * policy_rejected_logps
    # Equations 5 and 6; the configuration gives the margin in units of beta.
    excess = chosen_rewards - rejected_rewards - self.beta * self.gamma_beta_ratio
    if self.loss_type == "sigmoid":
        right, wrong = F.logsigmoid(excess), F.logsigmoid(-excess)
        losses = -(1 - self.label_smoothing) * right - self.label_smoothing * wrong
    elif self.loss_type == "hinge":
        losses = F.relu(1 - excess)
    else:
        raise ValueError(f"unknown loss_type {self.loss_type!r}")
    return losses, chosen_rewards.detach(), rejected_rewards.detach()
