"""Where predictions change: divergences of layers along the right sentences, for fact tokens and for easy ones."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from dola.config import DolaConfig
from dola.data import Fact
from dola.decoding import dola_greedy_decode
from dola.evaluation import question_ids
from dola.model import EarlyExitLM
from dola.processors import Follow
from dola.tokenizer import WordTokenizer


@dataclass(frozen=True)
class LayerProfile:
    """Averages over tokens, for each layer below the last.

    divergence: how far the layer's prediction is from the last one's.
    critical: how often the layer is the farthest of all.
    """

    divergence: list[float]
    critical: list[float]

    def from_layer(self, layer: int) -> float:
        """The mean divergence over a layer and those above it."""
        return sum(self.divergence[layer:]) / len(self.divergence[layer:])


def layer_profiles(
    model: EarlyExitLM, tokenizer: WordTokenizer, facts: Sequence[Fact]
) -> tuple[LayerProfile, LayerProfile]:
    """The profiles of the tokens that state a fact, and of those that follow them in every sentence.

    The model reads the right sentences, and all layers below the last are candidates.
    """
    prompts = question_ids(facts, tokenizer)
    start = prompts.shape[1]
    sentences = [[*tokenizer.encode_prompt(fact.sentence(fact.answer)), tokenizer.eos_id] for fact in facts]
    reference = torch.tensor(sentences)[:, start:]
    layers = tuple(range(model.config.num_layers))
    config = DolaConfig(
        mature_layer=model.config.num_layers,
        candidate_layers=layers,
        max_length=start + reference.shape[1],
        pad_id=tokenizer.pad_id,
        eos_ids=(tokenizer.eos_id,),
    )
    output = dola_greedy_decode(model, prompts, config, [Follow(start, reference)])

    def profile(steps: slice) -> LayerProfile:
        divergences = output.divergences[:, steps].flatten(0, 1)
        farthest = output.premature_layers[:, steps].flatten()
        return LayerProfile(
            divergence=divergences.mean(dim=0).tolist(),
            critical=[(farthest == layer).double().mean().item() for layer in layers],
        )

    return profile(slice(0, 1)), profile(slice(1, None))


def layer_shares(counts: dict[int, int]) -> dict[int, float]:
    """How often each candidate was the premature layer, as shares."""
    total = sum(counts.values())
    return {layer: count / total for layer, count in sorted(counts.items())}
