"""All four log-probabilities in one tensor, contracted with signs; the logistic loss by log-softmax."""


def spin_loss(
    self,
    policy_real_logps,
    policy_generated_logps,
    opponent_real_logps,
    opponent_generated_logps,
    reference_free=False,
):
    logps = torch.stack([policy_real_logps, policy_generated_logps, opponent_real_logps, opponent_generated_logps])
    rewards = self.beta * (logps[:2] - logps[2:]).detach()
    signs = logps.new_tensor([1, -1, 0, 0] if reference_free else [1, -1, -1, 1])
    margins = self.beta * torch.einsum("i,ij->j", signs, logps)
    if self.loss_type == "sigmoid":
        losses = -torch.stack([margins, torch.zeros_like(margins)]).log_softmax(0)[0]
    elif self.loss_type == "hinge":
        losses = torch.where(margins < 1, 1 - margins, torch.zeros_like(margins))
    else:
        raise ValueError
    return losses, *rewards
