"""What the probes found, by dataset and variant of the model, and the figures that are reported of it."""

from dataclasses import dataclass, field
from statistics import fmean as mean

from config import DepthConfig
from depth import ConceptDepth, measure_depth, sampled_layers


@dataclass(frozen=True)
class Curve:
    """Metrics of all layers."""

    acc: list[float]
    f1: list[float]
    auc: list[float]


@dataclass
class Results:
    """Curves by variant and dataset."""

    config: DepthConfig
    curves: dict[tuple[str, str], Curve] = field(default_factory=dict)

    def add(self, variant: str, dataset: str, curve: Curve) -> None:
        """Keep a curve. Each may be added once."""
        if (variant, dataset) in self.curves:
            raise ValueError(f"{variant}, {dataset}: measured twice")
        self.curves[variant, dataset] = curve

    def depth(self, variant: str, dataset: str) -> ConceptDepth:
        """The points of one curve."""
        return measure_depth(self.curves[variant, dataset].acc, self.config)

    def easiest_first(self, variant: str) -> list[str]:
        """Datasets by the mean accuracy of all layers: the earlier a concept is understood, the higher it is."""
        names = [name for kind, name in self.curves if kind == variant]
        return sorted(names, key=lambda name: -mean(self.curves[variant, name].acc))

    def means(self) -> dict[str, dict[str, float]]:
        """The mean of each metric over all layers."""
        return {
            f"{variant}, {dataset}": {name: mean(values) for name, values in vars(curve).items()}
            for (variant, dataset), curve in self.curves.items()
        }

    def table(self) -> dict[str, dict[str, list[float]]]:
        """The rows of the paper's table: metrics of six layers."""
        rows = {}
        for (variant, dataset), curve in self.curves.items():
            places = sampled_layers(len(curve.acc))
            rows[f"{variant}, {dataset}"] = {
                name: [round(values[place], 6) for place in places] for name, values in vars(curve).items()
            }
        return rows
