"""Greedy decoding: of the last layer's prediction, and of the contrast between layers."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import torch
from torch import Tensor, nn

from dola.config import FILTERED_SCORE, DolaConfig
from dola.processors import Processor
from dola.rows import GrowingRows


@dataclass(frozen=True)
class DolaOutput:
    """What decoding by contrasting layers gives; a step appends a token to every row.

    sequences: (batch, length), the prompts and what follows them.
    scores: for each step (batch, vocabulary), what the tokens were chosen by.
    premature_layers: (batch, steps), the premature layer.
    divergences: (batch, steps, candidates), in nats, with the candidates in the order of the configuration.
    layer_counts: for each candidate, how often it became premature layer, over all rows and steps.

    In the steps after a row's end nothing is chosen for it: its scores and divergences are 0, its premature layer is
    -1, and it counts for no layer.
    """

    sequences: Tensor
    scores: list[Tensor]
    premature_layers: Tensor
    divergences: Tensor
    layer_counts: dict[int, int]


@torch.no_grad()
def greedy_decode(
    model: nn.Module, input_ids: Tensor, layer: int, max_length: int, eos_ids: Sequence[int], pad_id: int
) -> Tensor:
    """Plain greedy decoding of one layer's prediction, for comparison. Returns prompts and continuations."""
    rows = GrowingRows(input_ids, max_length, eos_ids, pad_id)
    while not rows.done:
        rows.append(model(rows.ids, early_exit_layers=(layer,))[layer][:, -1].argmax(dim=1))
    return rows.ids


@torch.no_grad()
def dola_greedy_decode(
    model: nn.Module, input_ids: Tensor, config: DolaConfig, processors: Sequence[Processor] = ()
) -> DolaOutput:
    """Continue prompts by greedy decoding of the contrast between layers.

    model: called as `EarlyExitLM` is.
    input_ids: (batch, length), prompts that `left_pad` has made a batch of.
    config: the settings.
    processors: applied to the contrasted scores one after the other.
    """
    rows = GrowingRows(input_ids, config.max_length, config.eos_ids, config.pad_id)
    layers = config.candidate_layers
    numbers = torch.tensor(layers, dtype=torch.long)
    history, chosen, distances = [], [], []
    while not rows.done:
        exits = model(rows.ids, early_exit_layers=[*layers, config.mature_layer])
        mature = exits[config.mature_layer][:, -1].log_softmax(dim=-1)
        early = torch.stack([exits[layer][:, -1] for layer in layers], dim=1).log_softmax(dim=-1)
        late = mature.unsqueeze(1).expand_as(early)
        middle = torch.logaddexp(late, early) - log(2)
        divergence = (late.exp() * (late - middle) + early.exp() * (early - middle)).sum(dim=-1) / 2
        pick = divergence.argmax(dim=1)
        premature = early[torch.arange(len(pick)), pick]
        kept = torch.ones_like(mature, dtype=torch.bool)
        if config.relative_top > 0:
            threshold = mature.amax(dim=-1, keepdim=True) + log(config.relative_top)
            least = mature.topk(config.min_tokens_to_keep, dim=-1).values[:, -1:]
            kept = mature >= torch.minimum(threshold, least)
        scores = torch.where(kept, mature - premature, FILTERED_SCORE)
        for process in processors:
            scores = process(rows.ids, scores)
        active = rows.active
        history.append(torch.where(active.unsqueeze(1), scores, 0.0))
        chosen.append(torch.where(active, numbers[pick], -1))
        distances.append(torch.where(active.unsqueeze(1), divergence, 0.0))
        rows.append(scores.argmax(dim=-1))
    batch = len(input_ids)
    premature_layers = torch.stack(chosen, dim=1) if chosen else numbers.new_empty(batch, 0)
    divergences = torch.stack(distances, dim=1) if distances else torch.empty(batch, 0, len(layers))
    counts = {layer: int((premature_layers == layer).sum()) for layer in layers}
    return DolaOutput(rows.ids, history, premature_layers, divergences, counts)
