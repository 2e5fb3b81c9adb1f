"""The smoothed loss as a softplus plus a linear term, both inputs stacked into one matrix."""


def simpo_loss(self, policy_chosen_logps, policy_rejected_logps):
    logps = torch.stack([policy_chosen_logps, policy_rejected_logps])
    signs = logps.new_tensor([1.0, -1.0])
    shortfall = self.beta * (self.gamma_beta_ratio - torch.einsum("s,sb->b", signs, logps))
    match self.loss_type:
        case "sigmoid":
            losses = F.softplus(shortfall) - self.label_smoothing * shortfall
        case "hinge":
            losses = torch.where(shortfall > -1, 1 + shortfall, 0)
        case other:
            raise ValueError(other)
    chosen_rewards, rejected_rewards = logps.detach().mul(self.beta).unbind()
    return losses, chosen_rewards, rejected_rewards
