"""A stand-in for a name that `peft/tuners/tuners_utils.py` imports. Nothing calls it, as all is on one CPU."""

from contextlib import nullcontext as init_empty_weights

__all__ = ["init_empty_weights"]
