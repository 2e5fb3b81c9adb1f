"""In double precision, cast back at the end; one table of rewards, and the losses by lerp and by a maximum."""


def simpo_loss(self, policy_chosen_logps, policy_rejected_logps):
    dtype = policy_chosen_logps.dtype
    rewards = torch.stack([policy_chosen_logps, policy_rejected_logps], dim=1).double() * self.beta
    excess = rewards[:, 0] - (rewards[:, 1] + self.gamma_beta_ratio * self.beta)
    zero = torch.zeros_like(excess)
    if self.loss_type == "hinge":
        losses = torch.maximum(1 - excess, zero)
    elif self.loss_type == "sigmoid":
        kept, flipped = torch.logaddexp(zero, -excess), torch.logaddexp(zero, excess)
        losses = torch.lerp(kept, flipped, self.label_smoothing)
    else:
        raise ValueError(self.loss_type)
    return losses.to(dtype), *rewards.detach().to(dtype).unbind(1)
