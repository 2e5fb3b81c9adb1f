"""What two models say about completions, token by token, summed over each completion."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from data import IGNORED, PairBatch
from model import TinyLM


@dataclass(frozen=True)
class PairStatistics:
    """Statistics of a batch of pairs under policy and reference, each (batch,)."""

    chosen_logps_margin: Tensor
    rejected_logps_margin: Tensor
    chosen_position_kl: Tensor
    rejected_position_kl: Tensor


def completion_mask(labels: Tensor) -> Tensor:
    """Whether position t predicts a token of the completion; (batch, length - 1)."""
    return labels[:, 1:] != IGNORED


def token_logps(logits: Tensor, labels: Tensor) -> Tensor:
    """Log-probability of each token of the completions, 0 elsewhere; (batch, length - 1).

    logits: (batch, length, vocabulary); labels: (batch, length), IGNORED where a token is not of the completion.
    """
    mask = completion_mask(labels)
    targets = labels[:, 1:].masked_fill(~mask, 0).unsqueeze(-1)
    return F.log_softmax(logits[:, :-1], dim=-1).gather(-1, targets).squeeze(-1) * mask


def sequential_kl(logits: Tensor, reference_logits: Tensor, labels: Tensor) -> Tensor:
    """Forward divergence of the reference from the policy, summed over the completion's positions; (batch,)."""
    logps = F.log_softmax(logits[:, :-1], dim=-1)
    reference_logps = F.log_softmax(reference_logits[:, :-1], dim=-1)
    divergence = F.kl_div(logps, reference_logps, reduction="none", log_target=True).sum(-1)
    return (divergence * completion_mask(labels)).sum(-1)


def pair_statistics(policy: TinyLM, reference: TinyLM, pairs: PairBatch) -> PairStatistics:
    """Margins of the policy's log-probabilities over the reference's, and sequential divergences.

    Chosen and rejected sequences pass through each model as one batch; no gradient reaches the reference.
    """
    tokens = torch.cat([pairs.chosen, pairs.rejected])
    labels = torch.cat([pairs.chosen_labels, pairs.rejected_labels])
    logits = policy(tokens)
    with torch.no_grad():
        reference_logits = reference(tokens)
    margins = (token_logps(logits, labels) - token_logps(reference_logits, labels)).sum(-1)
    divergences = sequential_kl(logits, reference_logits, labels)
    return PairStatistics(*margins.chunk(2), *divergences.chunk(2))
