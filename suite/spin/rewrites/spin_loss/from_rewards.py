"""The loss from the two rewards, by a binary cross-entropy and by a ranking loss of the library."""


def spin_loss(
    self,
    policy_real_logps,
    policy_generated_logps,
    opponent_real_logps,
    opponent_generated_logps,
    reference_free=False,
):
    def values(real, generated):
        return self.beta * (policy_real_logps - real), self.beta * (policy_generated_logps - generated)

    rewards = values(opponent_real_logps, opponent_generated_logps)
    real, generated = values(0, 0) if reference_free else rewards
    ones = torch.ones_like(real)
    if self.loss_type == "sigmoid":
        losses = F.binary_cross_entropy_with_logits(real - generated, ones, reduction="none")
    elif self.loss_type == "hinge":
        losses = F.margin_ranking_loss(real, generated, ones, margin=1.0, reduction="none")
    else:
        raise ValueError(f"no loss is called {self.loss_type!r}")
    return losses, rewards[0].detach(), rewards[1].detach()
