"""Close to the formulas: a loop backwards over steps, objectives with their own signs, masked means by hand."""


def get_rewards_ppo(scores, logprobs, ref_logprobs, kl_coeff, valid_score_idxs=None):
    rows, steps = logprobs.shape
    if valid_score_idxs is None:
        valid_score_idxs = torch.full((rows,), steps - 1)
    kl = logprobs - ref_logprobs
    penalty = kl * -kl_coeff
    rewards = penalty.clone()
    rewards[torch.arange(rows), valid_score_idxs] += scores
    return rewards, kl, penalty


def estimate_advantages(values, rewards, gamma, lmbda, masks=None):
    advantages = torch.zeros_like(values, memory_format=torch.contiguous_format)
    following_value = following = torch.zeros_like(values[:, 0])
    for step in range(values.shape[1] - 1, -1, -1):
        following = rewards[:, step] + gamma * following_value - values[:, step] + gamma * lmbda * following
        following_value = values[:, step]
        advantages[:, step] = following
    returns = advantages + values
    normalised = whiten(advantages, mask=masks)
    return (normalised if masks is None else torch.where(masks, normalised, torch.zeros_like(normalised))), returns


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
        if mask is None:
            return numbers.mean()
        return numbers[mask].sum() / max(int(mask.sum()), 1)

    ratios = (pi_logprobs - pi_old_logprobs).exp()
    free = ratios * advantages
    held = ratios.clamp(min=1 - self.epsilon, max=1 + self.epsilon) * advantages
    share = mean((held < free).to(free.dtype), padding_masks)
    policy = -mean(torch.minimum(held, free), padding_masks)
    moved = (phi_values - phi_old_values).clamp(-self.value_clip_range, self.value_clip_range)
    worse = torch.maximum((phi_values - returns).square(), (phi_old_values + moved - returns).square())
    value = mean(worse / 2, value_padding_masks)
    loss = policy + self.value_coeff * value
    return loss, policy.detach(), value.detach(), ratios.detach().mean(), share.detach()
