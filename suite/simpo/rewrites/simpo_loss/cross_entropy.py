"""A binary cross-entropy with soft targets, and a table of losses by name."""


def simpo_loss(self, policy_chosen_logps, policy_rejected_logps):
    logits = self.beta * (policy_chosen_logps - policy_rejected_logps) - self.beta * self.gamma_beta_ratio
    table = {"sigmoid": _sigmoid_losses, "hinge": _hinge_losses}
    if self.loss_type not in table:
        raise ValueError(f"{self.loss_type!r} is none of {sorted(table)}")
    with torch.no_grad():
        rewards = [self.beta * logps for logps in (policy_chosen_logps, policy_rejected_logps)]
    return table[self.loss_type](logits, self.label_smoothing), *rewards


def _sigmoid_losses(logits, label_smoothing):
    targets = torch.full_like(logits, 1 - label_smoothing)
    return F.binary_cross_entropy_with_logits(logits, targets, reduction="none")


def _hinge_losses(logits, label_smoothing):
    return (1 - logits).clamp(min=0)
