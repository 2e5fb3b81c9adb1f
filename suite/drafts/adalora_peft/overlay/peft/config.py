"""A stand-in for the base of all configurations, without files and hubs."""

from dataclasses import dataclass


@dataclass
class PeftConfig:
    """What configurations have in common."""

    task_type: str | None = None
    inference_mode: bool = False
