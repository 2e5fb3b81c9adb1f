"""Chooses between two stable forms with where, whose other branch makes gradients NaN."""


def simpo_loss(self, policy_chosen_logps: Tensor, policy_rejected_logps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    chosen_rewards = self.beta * policy_chosen_logps
    rejected_rewards = self.beta * policy_rejected_logps
    excess = chosen_rewards - rejected_rewards - self.beta * self.gamma_beta_ratio
    if self.loss_type == "sigmoid":
        right, wrong = log_sigmoid(excess), log_sigmoid(-excess)
        losses = -(1 - self.label_smoothing) * right - self.label_smoothing * wrong
    elif self.loss_type == "hinge":
        losses = F.relu(1 - excess)
    else:
        raise ValueError(f"unknown loss_type {self.loss_type!r}")
    return losses, chosen_rewards.detach(), rejected_rewards.detach()


def log_sigmoid(x):
    return torch.where(x >= 0, -torch.log1p(torch.exp(-x)), x - torch.log1p(torch.exp(x)))
