"""A log of metrics under names with slashes, which becomes one JSON object."""

from dataclasses import asdict, is_dataclass
from typing import Any


class MetricsLog:
    """Collects numbers by name. A name is used once."""

    def __init__(self) -> None:
        self._values: dict[str, float] = {}

    def add(self, name: str, value: Any) -> None:
        """Log a number; or a list, a dict or a dataclass of numbers, each under a name of its own below `name`."""
        if is_dataclass(value) and not isinstance(value, type):
            value = asdict(value)
        if isinstance(value, list):
            value = dict(enumerate(value))
        if isinstance(value, dict):
            for key, part in value.items():
                self.add(f"{name}/{key}", part)
            return
        if name in self._values:
            raise ValueError(f"{name} is logged already")
        self._values[name] = float(value)

    def as_dict(self) -> dict[str, float]:
        """All metrics, in the order in which they were logged."""
        return dict(self._values)
