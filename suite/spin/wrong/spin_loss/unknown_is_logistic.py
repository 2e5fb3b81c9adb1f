"""Falls back on the logistic loss when the loss function is unknown."""


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
    losses = F.relu(1 - margin) if self.loss_type == "hinge" else -F.logsigmoid(margin)
    real_rewards = self.beta * (policy_real_logps - opponent_real_logps).detach()
    generated_rewards = self.beta * (policy_generated_logps - opponent_generated_logps).detach()
    return losses, real_rewards, generated_rewards
