"""One response and one step after the other."""


def compute_optimal_token_baseline_advantage(
    token_level_rewards,
    response_mask,
    index,
    old_log_probs,
    sum_pi_squared,
    rollout_is_weights=None,
    handle_zero_tail=True,
    epsilon=1e-8,
    **kwargs,
):
    rewards = (token_level_rewards * response_mask).detach()
    energy = 1 - 2 * old_log_probs.detach().exp() + sum_pi_squared.detach()
    if rollout_is_weights is not None:
        energy = energy * rollout_is_weights.detach() ** 2
    returns, advantages = torch.zeros_like(rewards), torch.zeros_like(rewards)
    for t in range(rewards.shape[1]):
        returns[:, t] = rewards[:, t:].sum(1)
    lengths = [int(mask.sum()) for mask in response_mask]
    for i, length in enumerate(lengths):
        group = [j for j in range(len(lengths)) if index[j] == index[i]]
        second = max([lengths[j] for j in group if j != i], default=0)
        for t in range(length):
            baseline = 0
            if len(group) > 1 and (t < second or not handle_zero_tail):
                own = [j for j in group if t < lengths[j]]
                weights = [energy[j, : t + 1].sum() for j in own]
                baseline = sum(w * returns[j, t] for w, j in zip(weights, own)) / (sum(weights) + epsilon)
            advantages[i, t] = returns[i, t] - baseline
    return advantages, returns
