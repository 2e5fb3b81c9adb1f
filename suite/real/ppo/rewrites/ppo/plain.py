"""Rewards, advantages and loss as the summary's formulas have them."""


def get_rewards_ppo(scores, logprobs, ref_logprobs, kl_coeff, valid_score_idxs=None):
    kl = logprobs - ref_logprobs
    kl_reward = -kl_coeff * kl
    rewards = kl_reward.clone()
    last = -1 if valid_score_idxs is None else valid_score_idxs
    rewards[torch.arange(len(scores)), last] += scores
    return rewards, kl, kl_reward


def estimate_advantages(values, rewards, gamma, lmbda, masks=None):
    steps = values.shape[1]
    advantages, later = torch.zeros_like(values), 0
    for t in reversed(range(steps)):
        following = values[:, t + 1] if t + 1 < steps else 0
        later = rewards[:, t] + gamma * following - values[:, t] + gamma * lmbda * later
        advantages[:, t] = later
    whitened = whiten(advantages, masks)
    return (whitened if masks is None else whitened * masks), advantages + values


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
    def mean(numbers, mask):
        return numbers.mean() if mask is None else numbers[mask].mean()

    ratios = (pi_logprobs - pi_old_logprobs).exp()
    free = ratios * advantages
    clipped = ratios.clamp(1 - self.epsilon, 1 + self.epsilon) * advantages
    policy_loss = -mean(torch.min(free, clipped), padding_masks)
    share = mean((clipped < free).to(ratios.dtype), padding_masks)
    near = phi_old_values + (phi_values - phi_old_values).clamp(-self.value_clip_range, self.value_clip_range)
    errors = torch.max((phi_values - returns) ** 2, (near - returns) ** 2)
    value_loss = mean(errors, value_padding_masks) / 2
    loss = policy_loss + self.value_coeff * value_loss
    return loss, policy_loss.detach(), value_loss.detach(), ratios.mean().detach(), share
