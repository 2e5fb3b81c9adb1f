"""A stand-in for the configuration of actors."""

from dataclasses import dataclass, field

__all__ = ["ActorConfig"]


@dataclass
class ActorConfig:
    """The settings of policy losses that are used here."""

    clip_ratio: float = 0.2
    clip_ratio_low: float | None = None
    clip_ratio_high: float | None = None
    ppo_epochs: int = 1
    global_batch_info: dict = field(default_factory=dict)

    def get(self, name, default=None):
        """A setting, or the default if there is none of this name."""
        return getattr(self, name, default)
