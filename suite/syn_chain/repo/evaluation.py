"""Probabilities of the true sentiments, accuracy and macro F1 (Section 4.2), and the log that keeps them."""

import math
from collections.abc import Callable, Sequence
from operator import mul
from statistics import fmean

from chain import Outcome
from data import SENTIMENTS, Sample

_KINDS: dict[str, Callable[[Sample], bool]] = {
    "all": lambda sample: True,
    "one aspect": lambda sample: sample.aspects == 1,
    "several aspects": lambda sample: sample.aspects > 1,
    "distracted": lambda sample: sample.distracted,
}


class MetricsLog:
    """Figures of each stage by name, in the order in which they came; the rates stand last."""

    def __init__(self) -> None:
        self._stages: dict[str, dict[str, float]] = {}

    @property
    def figures(self) -> dict[str, dict[str, float]]:
        return {stage: self._stages[stage] for stage in sorted(self._stages, key=lambda stage: stage == "rates")}

    def add(self, stage: str, name: str, value: float) -> None:
        self._stages.setdefault(stage, {})[name] = float(value)

    def moments(self, stage: str, name: str, values: Sequence[float]) -> None:
        """Keep the mean, the mean square, and a mean whose weights grow with the place from -1 to 1."""
        places = [2 * place / max(len(values) - 1, 1) - 1 for place in range(len(values))]
        self.add(stage, f"{name}, mean", fmean(values))
        self.add(stage, f"{name}, square", fmean(value * value for value in values))
        self.add(stage, f"{name}, by place", fmean(map(mul, places, values)))

    def record(self, stage: str, name: str, outcomes: Sequence[Outcome], beliefs: Sequence[dict[str, float]]) -> None:
        """Keep what the true sentiments are given for each kind of samples; accuracy and macro F1 are rates."""
        true = [belief[outcome.sample.sentiment] for outcome, belief in zip(outcomes, beliefs, strict=True)]
        for kind, belongs in _KINDS.items():
            chosen = [value for outcome, value in zip(outcomes, true, strict=True) if belongs(outcome.sample)]
            if chosen:
                self.add(stage, f"{name}: probability, {kind}", fmean(chosen))
        self.add(stage, f"{name}: log-probability", fmean(math.log(value) for value in true))
        self.add(stage, f"{name}: tendency", fmean(belief["positive"] - belief["negative"] for belief in beliefs))
        for number in (1, 2):
            words = [len(outcome.responses[number].split()) for outcome in outcomes if number in outcome.responses]
            if words:
                self.add(stage, f"{name}: words of R{number}", fmean(words))
        self.add("rates", f"{name}: accuracy", accuracy(outcomes))
        self.add("rates", f"{name}: macro F1", macro_f1(outcomes))


def accuracy(outcomes: Sequence[Outcome]) -> float:
    return sum(outcome.right for outcome in outcomes) / len(outcomes)


def macro_f1(outcomes: Sequence[Outcome]) -> float:
    """The mean of F1 over the sentiments that occur in gold or prediction."""
    scores = []
    for sentiment in SENTIMENTS.values():
        gold = {place for place, outcome in enumerate(outcomes) if outcome.sample.sentiment == sentiment}
        predicted = {place for place, outcome in enumerate(outcomes) if outcome.predicted == sentiment}
        if gold or predicted:
            scores.append(2 * len(gold & predicted) / (len(gold) + len(predicted)))
    return sum(scores) / len(scores)
