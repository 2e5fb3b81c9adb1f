"""Settings of SimPO training."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SimPOConfig:
    """How the policy is trained.

    Attributes:
        beta: scale of the rewards (beta in the paper).
        gamma_beta_ratio: the target reward margin as a multiple of beta, gamma / beta.
        loss_type: how pairs are classified, "sigmoid" or "hinge".
        label_smoothing: probability that the label of a pair is wrong, in [0, 0.5).
        length_normalized: score a response by the average log-probability of its tokens, not by their sum.
        sft_weight: weight of the likelihood loss on the chosen responses that is added (appendix J); 0 for none.
        learning_rate: of Adam, at its peak.
        steps: updates, each on all pairs.
        warmup: share of the steps in which the learning rate rises; then it follows a cosine down to zero.
    """

    beta: float = 2.0
    gamma_beta_ratio: float = 0.5
    loss_type: str = "sigmoid"
    label_smoothing: float = 0.0
    length_normalized: bool = True
    sft_weight: float = 0.0
    learning_rate: float = 1e-2
    steps: int = 4
    warmup: float = 0.1
