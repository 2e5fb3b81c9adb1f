"""A stand-in for a name that `peft/tuners/tuners_utils.py` imports. All is on one CPU, and nothing calls it."""

from contextlib import nullcontext as init_empty_weights

__all__ = ["init_empty_weights"]
