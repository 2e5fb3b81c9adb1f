"""A log of figures, and their averages."""

from collections import defaultdict


class MetricsLog:
    """Figures by name, as they come."""

    def __init__(self) -> None:
        self._figures: dict[str, list[float]] = defaultdict(list)

    def add(self, name: str, figure: float) -> None:
        """One more figure of that name."""
        self._figures[name].append(float(figure))

    def mean(self, name: str) -> float:
        """The average of the figures of that name."""
        return sum(self._figures[name]) / len(self._figures[name])
