"""A stand-in for the configuration of algorithms."""

from dataclasses import dataclass

__all__ = ["AlgoConfig"]


@dataclass
class AlgoConfig:
    """The settings of advantages that are used here."""

    norm_adv_by_std_in_grpo: bool = True

    def get(self, name, default=None):
        """A setting, or the default if there is none of this name."""
        return getattr(self, name, default)
