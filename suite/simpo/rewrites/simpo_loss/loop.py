"""One pair at a time, the margin in units of log-probability, and log(1 + exp) by logaddexp."""


def simpo_loss(self, policy_chosen_logps, policy_rejected_logps):
    if self.loss_type not in ("sigmoid", "hinge"):
        raise ValueError(self.loss_type)
    zero = policy_chosen_logps.new_zeros(())
    losses = []
    for chosen, rejected in zip(policy_chosen_logps, policy_rejected_logps):
        logit = self.beta * (chosen - rejected - self.gamma_beta_ratio)
        if self.loss_type == "hinge":
            losses.append(torch.maximum(zero, 1 - logit))
        else:
            kept, flipped = torch.logaddexp(zero, -logit), torch.logaddexp(zero, logit)
            losses.append(kept + self.label_smoothing * (flipped - kept))
    # An empty batch still hangs on the inputs.
    stacked = torch.stack(losses) if losses else policy_chosen_logps + policy_rejected_logps
    return stacked, policy_chosen_logps.detach() * self.beta, policy_rejected_logps.detach() * self.beta
