"""The losses as the paper writes them."""


def simpo_loss(self, policy_chosen_logps, policy_rejected_logps):
    logits = self.beta * (policy_chosen_logps - policy_rejected_logps - self.gamma_beta_ratio)
    if self.loss_type == "sigmoid":
        losses = -F.logsigmoid(logits) * (1 - self.label_smoothing) - F.logsigmoid(-logits) * self.label_smoothing
    elif self.loss_type == "hinge":
        losses = torch.relu(1 - logits)
    else:
        raise ValueError(f"Unknown loss type: {self.loss_type}")
    chosen_rewards = self.beta * policy_chosen_logps.detach()
    rejected_rewards = self.beta * policy_rejected_logps.detach()
    return losses, chosen_rewards, rejected_rewards
