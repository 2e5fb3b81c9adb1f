"""Blends values into one."""

from weighting import weights


class Blender:
    """Blends with a scale."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def blend(self, values: list[float]) -> float:
        """Return the scaled, weighted mean of the values."""
        factors = weights(len(values))
        if not values:
            return 0.0
        return self.scale * sum(w * v for w, v in zip(factors, values, strict=True)) / sum(factors)
