"""Classifies the two responses one by one, as a GAN's discriminator would, not their difference."""


def spin_loss(
    self,
    policy_real_logps,
    policy_generated_logps,
    opponent_real_logps,
    opponent_generated_logps,
    reference_free=False,
):
    real, generated = policy_real_logps, policy_generated_logps
    if not reference_free:
        real, generated = real - opponent_real_logps, generated - opponent_generated_logps
    real, generated = self.beta * real, self.beta * generated
    if self.loss_type == "sigmoid":
        losses = -F.logsigmoid(real) - F.logsigmoid(-generated)
    elif self.loss_type == "hinge":
        losses = F.relu(1 - real) + F.relu(1 + generated)
    else:
        raise ValueError(f"unknown loss_type {self.loss_type!r}")
    real_rewards = self.beta * (policy_real_logps - opponent_real_logps).detach()
    generated_rewards = self.beta * (policy_generated_logps - opponent_generated_logps).detach()
    return losses, real_rewards, generated_rewards
