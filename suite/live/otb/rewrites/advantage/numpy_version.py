"""Groups in a dictionary, in numpy and double precision."""

import numpy as np


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
    def array(item):
        return item.detach().double().numpy()

    mask = array(response_mask)
    returns = np.cumsum((array(token_level_rewards) * mask)[:, ::-1], axis=1)[:, ::-1].copy()
    energy = 1.0 - 2.0 * np.exp(array(old_log_probs)) + array(sum_pi_squared)
    if rollout_is_weights is not None:
        energy *= array(rollout_is_weights) ** 2
    paths = np.cumsum(energy * mask, axis=1) * mask
    members = {}
    for row, label in enumerate(index):
        members.setdefault(label, []).append(row)
    advantages = returns * mask
    for rows in members.values():
        if len(rows) == 1:
            continue
        baseline = (paths[rows] * returns[rows]).sum(0) / (paths[rows].sum(0) + epsilon)
        if handle_zero_tail:
            baseline = np.where(mask[rows].sum(0) < 2, 0.0, baseline)
        advantages[rows] -= baseline * mask[rows]
    return tuple(torch.from_numpy(item).to(token_level_rewards.dtype) for item in (advantages, returns))
