"""Where a policy stands on the frontier of reward against KL, along completions that follow the rule."""

import torch
import torch.nn.functional as F
from torch import Tensor

from data import FIRST, LAST, PairBatch
from model import TinyLM


@torch.no_grad()
def evaluate(policy: TinyLM, reference: TinyLM, pairs: PairBatch) -> dict[str, float]:
    """The true reward, wins over the reference, and the divergence from it.

    The reward of a token is its probability of being right, that is, of being one above the token before it. Of two
    tokens, one of the policy and one of the reference, the one that is right wins.
    """
    tokens, labels = pairs.chosen, pairs.chosen_labels
    counted = labels[:, 1:] >= 0
    logps, reference_logps = next_token_logps(policy, tokens), next_token_logps(reference, tokens)
    right = (FIRST + tokens[:, :-1] % LAST).unsqueeze(-1)
    ours, theirs = (item.exp().gather(-1, right).squeeze(-1) for item in (logps, reference_logps))
    ties = ours * theirs + (1 - ours) * (1 - theirs)
    wins = ours * (1 - theirs) + ties / 2
    divergence = F.kl_div(reference_logps, logps, log_target=True, reduction="none").sum(-1)
    return {
        "reward": average(ours, counted),
        "wins": average(wins, counted),
        "kl": (divergence * counted).sum(-1).mean().item(),
    }


def next_token_logps(model: TinyLM, tokens: Tensor, temperature: float = 1.0) -> Tensor:
    """Log-probabilities of every token at each position but the first, (batch, length - 1, vocabulary)."""
    logits = model(tokens)[:, :-1]
    return (logits / temperature).log_softmax(-1)


def average(values: Tensor, counted: Tensor) -> float:
    """The mean over the tokens that count, of the whole batch; both are (batch, length)."""
    return ((values * counted).sum() / counted.sum()).item()
