"""Sums over groups by index_add, and lengths for the tails."""


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
    with torch.no_grad():
        numbers = {}
        groups = torch.tensor([numbers.setdefault(label, len(numbers)) for label in index])
        kept = response_mask.bool()
        steps = kept.shape[1]
        later = torch.ones(steps, steps, dtype=token_level_rewards.dtype).tril()
        returns = token_level_rewards.masked_fill(~kept, 0.0) @ later
        energy = 1 - 2 * torch.exp(old_log_probs) + sum_pi_squared
        energy = energy if rollout_is_weights is None else energy * rollout_is_weights * rollout_is_weights
        paths = (energy.masked_fill(~kept, 0.0) @ later.T).masked_fill(~kept, 0.0)
        empty = paths.new_zeros(len(numbers), steps)
        below = empty.index_add(0, groups, paths) + epsilon
        baselines = (empty.index_add(0, groups, paths * returns) / below)[groups]
        sizes = torch.bincount(groups)
        baselines[sizes[groups] == 1] = 0
        if handle_zero_tail:
            lengths = kept.sum(1)
            for row in range(len(groups)):
                others = groups == groups[row]
                others[row] = False
                if others.any():
                    baselines[row, lengths[others].max() :] = 0
        return torch.where(kept, returns - baselines, torch.zeros_like(returns)), returns
