"""A stand-in: names that `peft/tuners/tuners_utils.py` imports. Everything is on one CPU here, so nothing is called."""

from contextlib import nullcontext as init_empty_weights

__all__ = ["init_empty_weights"]
