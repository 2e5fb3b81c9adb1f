"""A stand-in for the configurations: no file, no hub."""

from dataclasses import dataclass


@dataclass
class PeftConfig:
    """What all configurations have in common."""

    task_type: str | None = None
    inference_mode: bool = False
