"""Edge: Reads the loss function and the smoothing from the configuration, not from the trainer."""


def simpo_loss(self, policy_chosen_logps: Tensor, policy_rejected_logps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    chosen_rewards = self.beta * policy_chosen_logps
    rejected_rewards = self.beta * policy_rejected_logps
    excess = chosen_rewards - rejected_rewards - self.beta * self.gamma_beta_ratio
    if self.args.loss_type == "sigmoid":
        right, wrong = F.logsigmoid(excess), F.logsigmoid(-excess)
        losses = -(1 - self.args.label_smoothing) * right - self.args.label_smoothing * wrong
    elif self.args.loss_type == "hinge":
        losses = F.relu(1 - excess)
    else:
        raise ValueError(f"unknown loss_type {self.args.loss_type!r}")
    return losses, chosen_rewards.detach(), rejected_rewards.detach()
