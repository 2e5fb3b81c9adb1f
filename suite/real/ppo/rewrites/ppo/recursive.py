"""Advantages from returns of lambda by doubling prefix sums, and objectives by relu of what exceeds."""


def get_rewards_ppo(scores, logprobs, ref_logprobs, kl_coeff, valid_score_idxs=None):
    kl = torch.sub(logprobs, ref_logprobs)
    places = valid_score_idxs
    if places is None:
        places = torch.tensor(logprobs.shape[1] - 1).expand(logprobs.shape[0])
    bonus = torch.zeros_like(kl).scatter(1, places.reshape(-1, 1), scores.reshape(-1, 1))
    penalty = torch.neg(kl).mul(kl_coeff)
    return torch.add(bonus, penalty), kl, penalty


def estimate_advantages(values, rewards, gamma, lmbda, masks=None):
    following = torch.nn.functional.pad(values, (0, 1))[:, 1:]
    total = rewards + gamma * following - values
    reach = 1
    while reach < values.shape[1]:
        total = total + (gamma * lmbda) ** reach * torch.nn.functional.pad(total, (0, reach))[:, reach:]
        reach *= 2
    returns = values + total
    if masks is None:
        return whiten(total), returns
    return whiten(total, masks, shift_mean=True).where(masks, total.new_zeros(())), returns


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
    def over(mask):
        return (lambda numbers: numbers.mean()) if mask is None else (lambda numbers: rlhf.masked_mean(numbers, mask))

    policy_mean, value_mean = over(padding_masks), over(value_padding_masks)
    ratios = torch.exp(pi_logprobs - pi_old_logprobs)
    sign = advantages.sign()
    # How far a ratio lies beyond the end that matters for the sign of the advantage.
    beyond = torch.relu(sign * (ratios - 1) - self.epsilon)
    policy_loss = policy_mean(-advantages * (ratios - sign * beyond))
    distance = phi_values - phi_old_values
    excess = torch.relu(distance.abs() - self.value_clip_range) * distance.sign()
    errors = torch.stack([phi_values - returns, phi_values - excess - returns])
    value_loss = value_mean(errors.pow(2).amax(dim=0)) * 0.5
    with torch.no_grad():
        share = policy_mean((beyond * sign.abs() > 0).to(ratios.dtype))
        mean_ratio = ratios.mean()
    loss = torch.add(policy_loss, value_loss, alpha=self.value_coeff)
    return loss, policy_loss.detach(), value_loss.detach(), mean_ratio, share
