"""A matrix of memberships instead of a loop over groups."""


@torch.no_grad()
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
    kind = token_level_rewards.dtype
    mask = response_mask.to(kind)
    rewards = token_level_rewards * mask
    returns = rewards.sum(1, keepdim=True) - rewards.cumsum(1) + rewards
    weight = (1 + sum_pi_squared - 2 * old_log_probs.exp()) * mask
    if rollout_is_weights is not None:
        weight = weight * rollout_is_weights.square()
    weight = weight.cumsum(1) * mask
    numbers = as_torch_index(index)
    together = (numbers[:, None] == numbers[None, :]).to(kind)
    baseline = (together @ (weight * returns)) / (together @ weight + epsilon)
    alone = together.sum(1) == 1
    baseline = baseline.masked_fill(alone[:, None], 0.0)
    if handle_zero_tail:
        # Steps that no other response of the group has.
        others = together @ mask - mask
        baseline = baseline.masked_fill(others == 0, 0.0)
    # Returns are exactly 0 after the end.
    returns = returns.masked_fill(mask.flip(1).cumsum(1).flip(1) == 0, 0.0)
    return (returns - baseline) * mask, returns
