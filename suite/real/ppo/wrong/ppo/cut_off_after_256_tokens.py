"""The sum of advantages is cut off after 256 tokens."""

import torch

_TABLES = {}


def _mean(x, mask):
    from torchtune.rlhf.rewards import masked_mean

    return x.mean() if mask is None else masked_mean(x, mask)


def get_rewards_ppo(scores, logprobs, ref_logprobs, kl_coeff, valid_score_idxs=None):
    apart = logprobs - ref_logprobs
    penalty = -kl_coeff * apart
    rewards = penalty.clone()
    if valid_score_idxs is None:
        rewards[:, -1] += scores
    else:
        rewards[torch.arange(len(scores)), valid_score_idxs] += scores
    return rewards, apart, penalty


def _discounted(delta, factor):
    after, columns = torch.zeros_like(delta[:, 0]), []
    for place in reversed(range(delta.shape[1])):
        after = delta[:, place] + factor * after
        if place + 256 < delta.shape[1]:
            after = after - factor**256 * delta[:, place + 256]
        columns.append(after)
    return torch.stack(columns[::-1], dim=1)


def estimate_advantages(values, rewards, gamma, lmbda, masks=None):
    from torchtune.rlhf.rewards import whiten

    following = torch.cat([values[:, 1:], torch.zeros_like(values[:, :1])], dim=1)
    advantages = _discounted(rewards + gamma * following - values, gamma * lmbda)
    returns = advantages + values
    advantages = whiten(advantages, mask=masks)
    if masks is not None:
        advantages = advantages.masked_fill(~masks, 0.0)
    return advantages, returns


class PPOLoss:
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
        ratios = torch.exp(pi_logprobs - pi_old_logprobs)
        clipped = -advantages * ratios.clamp(1 - self.epsilon, 1 + self.epsilon)
        plain = -advantages * ratios
        share = _mean((clipped > plain).to(ratios.dtype), padding_masks)
        policy_loss = _mean(torch.maximum(plain, clipped), padding_masks)
        near = torch.clamp(phi_values, phi_old_values - self.value_clip_range, phi_old_values + self.value_clip_range)
        worse = torch.maximum((phi_values - returns) ** 2, (near - returns) ** 2)
        value_loss = 0.5 * _mean(worse, value_padding_masks)
        loss = policy_loss + self.value_coeff * value_loss
        return loss, policy_loss.detach(), value_loss.detach(), ratios.mean().detach(), share.detach()
