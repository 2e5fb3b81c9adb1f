"""Computes the losses of half-precision inputs in single precision, and does not cast back."""


def spin_loss(
    self,
    policy_real_logps,
    policy_generated_logps,
    opponent_real_logps,
    opponent_generated_logps,
    reference_free=False,
):
    log_ratio = policy_real_logps - policy_generated_logps
    if not reference_free:
        log_ratio = log_ratio - (opponent_real_logps - opponent_generated_logps)
    margin = self.beta * log_ratio
    if margin.dtype in (torch.float16, torch.bfloat16):
        margin = margin.float()
    if self.loss_type == "sigmoid":
        losses = -F.logsigmoid(margin)
    elif self.loss_type == "hinge":
        losses = F.relu(1 - margin)
    else:
        raise ValueError(f"unknown loss_type {self.loss_type!r}")
    real_rewards = self.beta * (policy_real_logps - opponent_real_logps).detach()
    generated_rewards = self.beta * (policy_generated_logps - opponent_generated_logps).detach()
    return losses, real_rewards, generated_rewards
