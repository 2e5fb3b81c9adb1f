"""Accuracy and macro F1 (Section 4.2), over all samples and over kinds of them, and the log that keeps them."""

from collections.abc import Callable, Sequence

from chain import Outcome
from data import SENTIMENTS, Sample

_KINDS: dict[str, Callable[[Sample], bool]] = {
    "all": lambda sample: True,
    "one aspect": lambda sample: sample.aspects == 1,
    "several aspects": lambda sample: sample.aspects > 1,
    "distracted": lambda sample: sample.distracted,
}


class MetricsLog:
    """Figures by name, in the order in which they came."""

    def __init__(self) -> None:
        self.figures: dict[str, float] = {}

    def record(self, name: str, outcomes: Sequence[Outcome]) -> None:
        """Keep the accuracy of each kind of samples, and macro F1 over all."""
        for kind, belongs in _KINDS.items():
            chosen = [outcome for outcome in outcomes if belongs(outcome.sample)]
            if chosen:
                self.figures[f"{name}: accuracy, {kind}"] = accuracy(chosen)
        self.figures[f"{name}: macro F1"] = macro_f1(outcomes)


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
