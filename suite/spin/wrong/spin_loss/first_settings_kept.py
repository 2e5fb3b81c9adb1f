"""Edge: Keeps beta and the loss function of the first call. Each call uses those of its time."""


def spin_loss(
    self,
    policy_real_logps,
    policy_generated_logps,
    opponent_real_logps,
    opponent_generated_logps,
    reference_free=False,
):
    beta, loss_type = self.__dict__.setdefault("_settings", (self.beta, self.loss_type))
    log_ratio = policy_real_logps - policy_generated_logps
    if not reference_free:
        log_ratio = log_ratio - (opponent_real_logps - opponent_generated_logps)
    margin = beta * log_ratio
    if loss_type == "sigmoid":
        losses = -F.logsigmoid(margin)
    elif loss_type == "hinge":
        losses = F.relu(1 - margin)
    else:
        raise ValueError(f"unknown loss_type {loss_type!r}")
    real_rewards = beta * (policy_real_logps - opponent_real_logps).detach()
    generated_rewards = beta * (policy_generated_logps - opponent_generated_logps).detach()
    return losses, real_rewards, generated_rewards
