"""Advantages by a product with powers of the decay in double precision, and losses chosen by conditions."""


def get_rewards_ppo(scores, logprobs, ref_logprobs, kl_coeff, valid_score_idxs=None):
    steps = torch.arange(logprobs.shape[1])
    last = steps[-1:] if valid_score_idxs is None else valid_score_idxs.unsqueeze(1)
    kl = logprobs - ref_logprobs
    return scores.unsqueeze(1) * (steps == last) - kl_coeff * kl, kl, -kl_coeff * kl


def estimate_advantages(values, rewards, gamma, lmbda, masks=None):
    seen = values.double()
    following = torch.cat([seen[:, 1:], torch.zeros_like(seen[:, :1])], dim=1)
    delta = rewards.double() + gamma * following - seen
    place = torch.arange(values.shape[1])
    ahead = place.unsqueeze(1) - place
    powers = torch.where(ahead >= 0, (gamma * lmbda) ** ahead.clamp(min=0).double(), 0.0)
    raw = delta @ powers
    returns = (raw + seen).to(values.dtype)
    counted = raw if masks is None else raw[masks]
    mean, variance = counted.mean(), counted.var()
    # The variance is that of deviations from the mean, which is added again.
    result = (raw - mean) / (variance + 1e-8).sqrt() + mean
    if masks is not None:
        result = result.masked_fill(masks.logical_not(), 0.0)
    return result.to(values.dtype), returns


def forward(
    self,
    pi_old_logprobs,
    pi_logprobs,
    advantages,
    phi_old_values,
    phi_values,
    returns,
    padding_masks=None,
    value_padding_masks=None,
):
    everything = torch.ones_like(pi_logprobs, dtype=torch.bool)
    first = everything if padding_masks is None else padding_masks
    second = everything if value_padding_masks is None else value_padding_masks
    ratios = torch.exp(pi_logprobs - pi_old_logprobs)
    too_high = (advantages > 0) & (ratios > 1 + self.epsilon)
    too_low = (advantages < 0) & (ratios < 1 - self.epsilon)
    bound = 1 + self.epsilon * (too_high.to(ratios.dtype) - too_low.to(ratios.dtype))
    decided = too_high | too_low
    policy = -rlhf.masked_mean(torch.where(decided, bound, ratios) * advantages, first)
    error = phi_values - returns
    limit = self.value_clip_range * (phi_values - phi_old_values).sign()
    held = phi_old_values + limit - returns
    use = ((phi_values - phi_old_values).abs() > self.value_clip_range) & (held.abs() > error.abs())
    value = rlhf.masked_mean(torch.where(use, held, error) ** 2, second) * 0.5
    share = rlhf.masked_mean(decided.to(ratios.dtype), first)
    return policy + value * self.value_coeff, policy.detach(), value.detach(), ratios.mean().detach(), share
