"""The settings of the trainer that VESPO uses."""

from dataclasses import dataclass


@dataclass
class GRPOConfig:
    """Settings of the weights.

    Args:
        vespo_k_pos: The power, for advantages that are not negative.
        vespo_lambda_pos: The rate of decay, for advantages that are not negative.
        vespo_k_neg: The power, for negative advantages.
        vespo_lambda_neg: The rate of decay, for negative advantages.
    """

    vespo_k_pos: float = 2.0
    vespo_lambda_pos: float = 3.0
    vespo_k_neg: float = 3.0
    vespo_lambda_neg: float = 2.0
