"""A log of figures, and their averages."""

from collections import defaultdict


class MetricsLog:
    """Figures by name, as they come."""

    def __init__(self) -> None:
        self._figures: dict[str, list[float]] = defaultdict(list)

    def add(self, name: str, figure: float) -> None:
        """One more figure of that name."""
        self._figures[name].append(float(figure))

    def means(self, prefix: str) -> dict[str, float]:
        """The average of each figure, under its name with a prefix."""
        return {f"{prefix}: {name}": sum(figures) / len(figures) for name, figures in sorted(self._figures.items())}
