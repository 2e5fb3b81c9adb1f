"""A stub that offers the functions of rewards.py. The published package offers more."""

from .rewards import estimate_advantages, get_reward_penalty_mask, get_rewards_ppo, masked_mean, masked_var, whiten

__all__ = ["estimate_advantages", "get_reward_penalty_mask", "get_rewards_ppo", "masked_mean", "masked_var", "whiten"]
