"""The losses as the paper writes them."""


def spin_loss(
    self,
    policy_real_logps,
    policy_generated_logps,
    opponent_real_logps,
    opponent_generated_logps,
    reference_free=False,
):
    real_rewards = self.beta * (policy_real_logps - opponent_real_logps)
    generated_rewards = self.beta * (policy_generated_logps - opponent_generated_logps)
    if reference_free:
        margin = self.beta * (policy_real_logps - policy_generated_logps)
    else:
        margin = real_rewards - generated_rewards
    if self.loss_type == "sigmoid":
        losses = -F.logsigmoid(margin)
    elif self.loss_type == "hinge":
        losses = torch.relu(1 - margin)
    else:
        raise ValueError(f"Unknown loss type: {self.loss_type}")
    return losses, real_rewards.detach(), generated_rewards.detach()
