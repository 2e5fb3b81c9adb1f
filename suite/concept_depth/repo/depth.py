"""Concept depth: where along the layers accuracy rises and where it settles (section 4.3)."""

from dataclasses import dataclass
from itertools import pairwise

from config import DepthConfig


@dataclass(frozen=True)
class ConceptDepth:
    """Points as shares of the model's depth; None where no layer meets the condition.

    understood: the first layer, as such a share, whose accuracy is that from which on a concept counts as understood.
    """

    jumping: float | None
    converging: float | None
    understood: float | None
    peak: float


def variation_rates(accuracies: list[float]) -> list[float]:
    """How many times the accuracy of the layer before each layer's accuracy is, from the second layer on."""
    return [now / before for before, now in pairwise(accuracies)]


def measure_depth(accuracies: list[float], config: DepthConfig) -> ConceptDepth:
    """The points of one model and one dataset from the accuracies of all layers."""
    layers = len(accuracies)
    rates = variation_rates(accuracies)
    jumps = [place for place, rate in enumerate(rates, start=1) if rate >= config.jump]
    flat = [place for place, rate in enumerate(rates, start=1) if abs(rate - 1) < config.flat]
    enough = [place for place, accuracy in enumerate(accuracies) if accuracy >= config.understood]
    return ConceptDepth(
        jumping=jumps[0] / layers if jumps else None,
        converging=flat[-1] / layers if flat else None,
        understood=enough[0] / layers if enough else None,
        peak=max(accuracies),
    )


def centre(chances: list[float]) -> float:
    """Where most is known of a concept, as a share of the depth: the mean place of the layers, weighted by chances."""
    layers = len(chances)
    return sum(place / layers * chance for place, chance in enumerate(chances)) / sum(chances)


def sampled_layers(layers: int) -> list[int]:
    """The layers of the paper's table of results: the first, those at four shares of the depth, and the last."""
    return [0, *(round(share * layers) - 1 for share in (0.25, 0.5, 0.67, 0.83)), layers - 1]
