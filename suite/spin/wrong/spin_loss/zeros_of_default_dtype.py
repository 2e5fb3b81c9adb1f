"""Edge: Puts zeros of single precision in the opponent's place. Half precision gives results in half precision."""


def spin_loss(
    self,
    policy_real_logps: Tensor,
    policy_generated_logps: Tensor,
    opponent_real_logps: Tensor,
    opponent_generated_logps: Tensor,
    reference_free: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    opponent_ratio = opponent_real_logps - opponent_generated_logps
    if reference_free:
        opponent_ratio = torch.zeros(len(opponent_ratio))
    log_ratio = policy_real_logps - policy_generated_logps - opponent_ratio
    # Equation 4.7: the argument of the loss function.
    margin = self.beta * log_ratio
    if self.loss_type == "sigmoid":
        losses = -F.logsigmoid(margin)
    elif self.loss_type == "hinge":
        losses = F.relu(1 - margin)
    else:
        raise ValueError(self.loss_type)
    real_rewards = self.beta * (policy_real_logps - opponent_real_logps).detach()
    generated_rewards = self.beta * (policy_generated_logps - opponent_generated_logps).detach()
    return losses, real_rewards, generated_rewards
