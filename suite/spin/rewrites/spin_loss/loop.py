"""One pair at a time, with log(1 + exp) by logaddexp."""


def spin_loss(
    self,
    policy_real_logps,
    policy_generated_logps,
    opponent_real_logps,
    opponent_generated_logps,
    reference_free=False,
):
    if self.loss_type not in ("sigmoid", "hinge"):
        raise ValueError(self.loss_type)
    zero = policy_real_logps.new_zeros(())
    losses, rewards = [], []
    rows = zip(policy_real_logps, policy_generated_logps, opponent_real_logps, opponent_generated_logps, strict=True)
    for player_real, player_generated, other_real, other_generated in rows:
        rewards.append([self.beta * (player_real - other_real), self.beta * (player_generated - other_generated)])
        gap = player_real - player_generated
        if not reference_free:
            gap = gap + other_generated - other_real
        if self.loss_type == "sigmoid":
            losses.append(torch.logaddexp(zero, -self.beta * gap))
        else:
            losses.append(torch.maximum(zero, 1 - self.beta * gap))
    if not losses:
        # An empty batch still hangs on the inputs.
        empty = policy_real_logps + policy_generated_logps
        return empty, empty.detach(), empty.detach()
    real_rewards, generated_rewards = (torch.stack(column).detach() for column in zip(*rewards, strict=True))
    return torch.stack(losses), real_rewards, generated_rewards
