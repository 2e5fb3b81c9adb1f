"""A stand-in for the settings of all trainers."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass
class _BaseConfig:
    """Settings that the configuration of IW-OPD checks."""

    _VALID_DICT_FIELDS: ClassVar[list[str]] = []

    output_dir: str | None = None
    per_device_train_batch_size: int = 8
    gradient_accumulation_steps: int = 1

    def __post_init__(self):
        """Nothing is checked here."""
