"""Takes the logarithm of a sigmoid in double precision, which is minus infinity further out."""


def simpo_loss(self, policy_chosen_logps: Tensor, policy_rejected_logps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    chosen_rewards = self.beta * policy_chosen_logps
    rejected_rewards = self.beta * policy_rejected_logps
    excess = chosen_rewards - rejected_rewards - self.beta * self.gamma_beta_ratio
    if self.loss_type == "sigmoid":
        right, wrong = [torch.sigmoid(x.double()).log().to(x.dtype) for x in (excess, -excess)]
        losses = -(1 - self.label_smoothing) * right - self.label_smoothing * wrong
    elif self.loss_type == "hinge":
        losses = F.relu(1 - excess)
    else:
        raise ValueError(f"unknown loss_type {self.loss_type!r}")
    return losses, chosen_rewards.detach(), rejected_rewards.detach()
