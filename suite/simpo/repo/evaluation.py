"""What a policy's likelihoods say on pairs that were held out (sections 4.2 and 4.3), and how far it has moved."""

import torch
import torch.nn.functional as F
from torch import Tensor

from data import IGNORED, PairBatch
from model import TinyLM
from scripts.simpo_config import SimPOConfig
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


@torch.no_grad()
def compare(model: TinyLM, start: TinyLM, pairs: PairBatch, args: SimPOConfig) -> dict[str, float]:
    """The distribution of reward differences, and the divergence from the start.

    `preference` is the mean probability that the winner is preferred, and `spread` the deviation of differences of
    average log-likelihoods. `kl` is measured on winners.
    """
    logits, others = model(pairs.chosen), model(pairs.rejected)
    winner = SimPOTrainer.get_batch_logps(logits, pairs.chosen_labels)
    loser = SimPOTrainer.get_batch_logps(others, pairs.rejected_labels)
    difference = winner - loser
    counted = (pairs.chosen_labels != IGNORED)[:, 1:]
    logps, start_logps = (F.log_softmax(item[:, :-1], dim=-1) for item in (logits, start(pairs.chosen)))
    divergence = (logps.exp() * (logps - start_logps)).sum(-1)
    return {
        "preference": torch.sigmoid(args.beta * difference).mean().item(),
        "spread": difference.std().item(),
        "kl": average(divergence, counted),
    }


def average(values: Tensor, counted: Tensor) -> float:
    """The mean over the tokens that count, of the whole batch; both are (batch, length)."""
    return ((values * counted).sum() / counted.sum()).item()


def response_lengths(labels: Tensor) -> Tensor:
    """Tokens of each response, (batch,)."""
    return (labels != IGNORED).sum(-1)
