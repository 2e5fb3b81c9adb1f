"""PyTorch's margin ranking loss for the hinge, a two-class log-softmax for the sigmoid."""


def simpo_loss(self, policy_chosen_logps, policy_rejected_logps):
    rewards = [logps * self.beta for logps in (policy_chosen_logps, policy_rejected_logps)]
    handicapped = rewards[0] - self.gamma_beta_ratio * self.beta
    if self.loss_type == "sigmoid":
        classes = F.log_softmax(torch.stack([handicapped, rewards[1]], dim=-1), dim=-1)
        weights = classes.new_tensor([1 - self.label_smoothing, self.label_smoothing])
        losses = -(classes @ weights)
    elif self.loss_type == "hinge":
        order = torch.ones_like(handicapped)
        losses = F.margin_ranking_loss(handicapped, rewards[1], order, margin=1.0, reduction="none")
    else:
        raise ValueError(f"{self.loss_type} is not supported")
    return losses, rewards[0].detach(), rewards[1].detach()
