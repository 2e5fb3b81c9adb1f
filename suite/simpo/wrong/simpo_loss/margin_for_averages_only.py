"""Leaves the margin out where log-probabilities are sums."""


def simpo_loss(self, policy_chosen_logps: Tensor, policy_rejected_logps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    chosen_rewards = self.beta * policy_chosen_logps
    rejected_rewards = self.beta * policy_rejected_logps
    # Equations 5 and 6; the configuration gives the margin in units of beta.
    ratio = self.gamma_beta_ratio if self.args.length_normalized else 0.0
    excess = chosen_rewards - rejected_rewards - self.beta * ratio
    if self.loss_type == "sigmoid":
        right, wrong = F.logsigmoid(excess), F.logsigmoid(-excess)
        losses = -(1 - self.label_smoothing) * right - self.label_smoothing * wrong
    elif self.loss_type == "hinge":
        losses = F.relu(1 - excess)
    else:
        raise ValueError(f"unknown loss_type {self.loss_type!r}")
    return losses, chosen_rewards.detach(), rejected_rewards.detach()
