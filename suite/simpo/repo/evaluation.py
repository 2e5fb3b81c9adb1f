"""What a policy's likelihoods say on pairs that were held out (sections 4.2 and 4.3)."""

import torch
from torch import Tensor

from data import IGNORED, PairBatch
from model import TinyLM
from scripts.simpo_trainer import SimPOTrainer


@torch.no_grad()
def evaluate(model: TinyLM, pairs: PairBatch) -> dict[str, float]:
    """Means over pairs of average log-likelihoods (eq. 3), however the model was trained.

    `difference` is that of winner and loser; it is also given for the pairs whose winner is the longer and the shorter
    one. `winner` is the winner's alone. `length_correlation` is Pearson's, between likelihood and length of responses.
    """
    winner = SimPOTrainer.get_batch_logps(model(pairs.chosen), pairs.chosen_labels)
    loser = SimPOTrainer.get_batch_logps(model(pairs.rejected), pairs.rejected_labels)
    winner_length, loser_length = response_lengths(pairs.chosen_labels), response_lengths(pairs.rejected_labels)
    difference = winner - loser
    likelihoods = torch.cat([winner, loser])
    lengths = torch.cat([winner_length, loser_length]).to(likelihoods.dtype)
    return {
        "difference": difference.mean().item(),
        "difference_if_longer": difference[winner_length > loser_length].mean().item(),
        "difference_if_shorter": difference[winner_length < loser_length].mean().item(),
        "winner": winner.mean().item(),
        "length_correlation": torch.corrcoef(torch.stack([likelihoods, lengths]))[0, 1].item(),
    }


def response_lengths(labels: Tensor) -> Tensor:
    """Tokens of each response, (batch,)."""
    return (labels != IGNORED).sum(-1)
