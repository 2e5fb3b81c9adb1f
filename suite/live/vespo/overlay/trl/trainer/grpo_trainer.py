"""The loss of VESPO.

This file takes the place of the published trainer, whose docstring states the formula. Its weights are the same, but
for parameters of the weights in double precision, which the published trainer rounds to single precision.
"""

import math

import torch

from .grpo_config import GRPOConfig


class GRPOTrainer:
    """A trainer for completions of an older policy.

    Args:
        args: The settings.
    """

    def __init__(self, args: GRPOConfig | None = None) -> None:
        self.args = args or GRPOConfig()

    @staticmethod
    @torch.no_grad()
    def get_gamma_weights(
        advantages: torch.Tensor,
        log_ratio_per_token: torch.Tensor,
        mask: torch.Tensor,
        importance_sampling_ratio: torch.Tensor | None,
        k_pos: float = 2.0,
        lambda_pos: float = 3.0,
        k_neg: float = 3.0,
        lambda_neg: float = 2.0,
    ) -> torch.Tensor:
        """Compute the weights of completions in the loss of VESPO.

        Args:
            advantages: One for each completion, (B, 1).
            log_ratio_per_token: Log ratios of the current to the old policy, (B, T).
            mask: 1 at tokens that count, (B, T).
            importance_sampling_ratio: Ratios of the old policy to the sampler, (B, T), if they differ.
            k_pos: The power for advantages that are not negative.
            lambda_pos: The rate of decay for advantages that are not negative.
            k_neg: The power for negative advantages.
            lambda_neg: The rate of decay for negative advantages.

        Returns:
            The weights, (B, 1), without gradients.
        """
        lowest = math.log(1e-8)
        log_weight = (log_ratio_per_token.clamp(-20.0, 20.0) * mask).sum(dim=-1, keepdim=True)
        if importance_sampling_ratio is not None:
            log_weight = log_weight + importance_sampling_ratio.log().clamp(lowest, 20.0).sum(dim=-1, keepdim=True)
        log_weight = log_weight.clamp(lowest, 20.0)
        positive = advantages >= 0
        power = torch.where(positive, log_weight.new_tensor(k_pos), log_weight.new_tensor(k_neg))
        decay = torch.where(positive, log_weight.new_tensor(lambda_pos), log_weight.new_tensor(lambda_neg))
        decay = decay.clamp(min=1e-4)
        log_phi = decay + power * log_weight - decay * log_weight.exp()
        return log_phi.exp().nan_to_num(nan=0.0, posinf=0.0)

    def compute_loss(self, per_token_logps: torch.Tensor, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """Compute the loss over the tokens that count.

        Args:
            per_token_logps: Log probabilities of the current policy, (B, T).
            inputs: `advantages` (B,), `completion_mask` and `old_per_token_logps` (B, T), and, if the sampler is
                another model than the old policy, `importance_sampling_ratio` (B, T).

        Returns:
            The loss, a scalar.
        """
        mask, advantages = inputs["completion_mask"], inputs["advantages"].unsqueeze(1)
        weights = self.get_gamma_weights(
            advantages=advantages,
            log_ratio_per_token=per_token_logps - inputs["old_per_token_logps"],
            mask=mask,
            importance_sampling_ratio=inputs.get("importance_sampling_ratio"),
            k_pos=self.args.vespo_k_pos,
            lambda_pos=self.args.vespo_lambda_pos,
            k_neg=self.args.vespo_k_neg,
            lambda_neg=self.args.vespo_lambda_neg,
        )
        return -(weights * advantages * per_token_logps * mask).sum() / mask.sum().clamp(min=1)
