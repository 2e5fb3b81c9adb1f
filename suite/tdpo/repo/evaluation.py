"""How far a policy went from the reference on pairs that were held out, and what that bought."""

import torch
import torch.nn.functional as F

from data import PairBatch
from model import TinyLM
from utils import completion_mask, pair_statistics


@torch.no_grad()
def evaluate(policy: TinyLM, reference: TinyLM, pairs: PairBatch) -> dict[str, float]:
    """Means over pairs: both sequential divergences, their gap, the preference gained, the entropy per token."""
    statistics = pair_statistics(policy, reference, pairs)
    chosen_kl, rejected_kl = statistics.chosen_position_kl.mean(), statistics.rejected_position_kl.mean()
    gain = statistics.chosen_logps_margin - statistics.rejected_logps_margin
    return {
        "chosen_kl": chosen_kl.item(),
        "rejected_kl": rejected_kl.item(),
        "kl_gap": (rejected_kl - chosen_kl).abs().item(),
        "preference_gain": gain.mean().item(),
        "entropy": token_entropy(policy, pairs),
    }


@torch.no_grad()
def token_entropy(model: TinyLM, pairs: PairBatch) -> float:
    """Mean entropy of the model's next-token distributions within completions of both kinds, in nats."""
    tokens = torch.cat([pairs.chosen, pairs.rejected])
    mask = completion_mask(torch.cat([pairs.chosen_labels, pairs.rejected_labels]))
    logps = F.log_softmax(model(tokens)[:, :-1], dim=-1)
    return -(logps.exp() * logps).sum(-1)[mask].mean().item()
