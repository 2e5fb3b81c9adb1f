"""In double precision, cast back at the end; with the trainer's settings read once."""


def spin_loss(
    self,
    policy_real_logps,
    policy_generated_logps,
    opponent_real_logps,
    opponent_generated_logps,
    reference_free=False,
):
    beta, kind, dtype = self.beta, self.loss_type, policy_real_logps.dtype
    real, generated = policy_real_logps.double(), policy_generated_logps.double()
    rewards = beta * (real - opponent_real_logps), beta * (generated - opponent_generated_logps)
    margin = beta * real - beta * generated if reference_free else rewards[0] - rewards[1]
    zero = torch.zeros_like(margin)
    if kind == "hinge":
        losses = torch.clamp(1 - margin, min=0)
    elif kind == "sigmoid":
        losses = torch.logaddexp(zero, -margin)
    else:
        raise ValueError(f"no such loss: {kind!r}")
    return losses.to(dtype), *(reward.detach().to(dtype) for reward in rewards)
